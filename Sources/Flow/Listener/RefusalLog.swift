// Says in one line a minute how many requests were refused because of their key, path, method, certificate or origin, and how many connections
// were ended to make room for others. These are mistakes of the people who run the router or its clients, and a client often shows nothing of
// them. The first one is said at once. A line has numbers and the paths that exist, and nothing that a client has sent: neither a key nor a
// path, which can contain one.

internal import Platform

final class RefusalLog: Sendable {
    /// The time between two lines.
    static let interval = Duration.seconds(60)

    private enum Kind: Int, CaseIterable { case key, certificate, path, method, origin, connection }

    private struct State {
        var counts = [Int](repeating: 0, count: Kind.allCases.count)
        /// The earliest time of the next line.
        var next: Instant?
        var isOver = false

        var isPending: Bool { counts.contains { $0 > 0 } }
    }

    let paths: [String]
    private let name: String
    private let clock: Clock
    private let say: @Sendable (String) -> Void
    private let state = Monitor(State())

    init(name: String, paths: [String], clock: Clock, say: @escaping @Sendable (String) -> Void) {
        self.name = name
        self.paths = paths
        self.clock = clock
        self.say = say
    }

    /// Counts a refusal, if it is one that is said.
    func note(_ refusal: Refusal) {
        let kind: Kind
        switch refusal {
        case .noKey, .wrongKey, .otherKey: kind = .key
        case .noCertificate: kind = .certificate
        case .notFound: kind = .path
        case .wrongMethod: kind = .method
        case .otherOrigin: kind = .origin
        default: return
        }
        add(kind)
    }

    /// Counts a connection that was ended to make room for another one.
    func noteShedConnection() { add(.connection) }

    private func add(_ kind: Kind) {
        let isFirst = state.withLock { state in
            defer { state.counts[kind.rawValue] += 1 }
            return !state.isPending
        }
        if isFirst { state.wake() }
    }

    /// Says a line when it is due, until `end` is called. What is then left is said at once.
    func run() {
        while let line = state.waitUntilReady({ take(&$0) }) { say(line) }
    }

    /// The line that is due now. It is nil if none is. Whoever reads it must say it.
    var due: String? {
        state.withLock { state in
            if case .ready(let line) = take(&state) { line } else { nil }
        }
    }

    /// Takes the counts for the next line if it is due. Returns nil instead of a line if there will be none any more.
    private func take(_ state: inout State) -> Readiness<String?> {
        guard state.isPending else { return state.isOver ? .ready(nil) : .notBefore(nil) }
        let now = clock.now()
        if let next = state.next, now < next, !state.isOver { return .notBefore(next) }
        defer {
            state.counts = [Int](repeating: 0, count: Kind.allCases.count)
            state.next = now + RefusalLog.interval
        }
        return .ready(line(state.counts))
    }

    private func line(_ counts: [Int]) -> String {
        let parts = zip(Kind.allCases, counts).filter { $0.1 > 0 }.map { kind, count in
            let requests = "refused " + (count == 1 ? "1 request" : "\(grouped(count)) requests")
            switch kind {
            case .connection:
                return "ended \(grouped(count)) idle \(count == 1 ? "connection" : "connections") to make room for others, "
                    + "since as many are open as may be"
            case .key: return "\(requests) without a key that is valid for it"
            case .certificate: return "\(requests) without a certificate of a client"
            case .path: return "\(requests) to a path that is not there (the paths are \(paths.joined(separator: ", ")))"
            case .method: return "\(requests) with another method than POST"
            case .origin: return "\(requests) of web pages whose origin is not in 'origins'"
            }
        }
        return "\(name): " + parts.joined(separator: ", ")
    }

    func end() {
        state.withLock { $0.isOver = true }
        state.wake()
    }
}
