// Where events go that are given up: one JSON object a line with the event as it was sent and the provider's answer.
// The file is made, for its owner alone, when the first event comes. It never holds settings or secrets.

internal import Events
public import Platform
internal import Policy

public final class DeadLetters: Sendable {
    public let path: String
    private let clock: Clock
    private let warn: @Sendable (String) -> Void
    private let state = Monitor(State())

    private struct State {
        var file: AppendFile?
        /// The fault that was told last; it is not told again until a write has succeeded.
        var told: SystemFault?
    }

    /// `warn` is told, in words for a person, when events cannot be kept.
    public init(path: String, clock: Clock, warn: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.clock = clock
        self.warn = warn
    }

    /// Keeps the events of a batch; how many could not be kept.
    func bury(
        _ batch: Batch, provider: String, routes: [String], reason: LaneAccount.Fate, _ answer: Answer, attempts: Int
    ) -> Int {
        var lines = ByteBuffer(capacity: batch.bytes.count + batch.count * 256)
        for index in 0..<batch.count {
            lines.append("{\"at\":\"\(timestamp(clock.wall()))\",\"provider\":\(jsonQuoted(provider))")
            lines.append(",\"route\":\(jsonQuoted(routes[Int(batch.entries[index].route)]))")
            lines.append(",\"reason\":\"\(reason.rawValue)\",\"attempts\":\(attempts)")
            lines.append(",\"code\":\(answer.code),\"answer\":\(jsonQuoted(answer.message))")
            lines.append(",\"arrival\":\"\(timestamp(batch.arrivals[index]))\",\"event\":")
            lines.append(contentsOf: batch.event(index))
            lines.append("}\n")
        }
        return state.withLock { state in
            do throws(SystemFault) {
                try write(lines.bytes, &state)
                state.told = nil
                return 0
            } catch {
                if state.told != error {
                    warn(
                        "dead letters of \(provider) cannot be kept in \(path): \(error); events lost: \(grouped(batch.count)), and more may follow"
                    )
                }
                state.told = error
                return batch.count
            }
        }
    }

    /// Opens the file anew with the next event, since it may have been moved away.
    public func reopen() { state.withLock { $0.file = nil } }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) throws(SystemFault) {
        if state.file == nil {
            if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) { try makeFolder(String(path[..<slash]), mode: 0o700) }
            state.file = try AppendFile(path: path)
        }
        try state.file?.append(bytes)
    }
}
