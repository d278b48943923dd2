// Invalid lines, told and kept. Each costs nothing but itself: the first are named one by one, many are summed up, and
// the text is shown or kept only when asked for, since it may be private. Only the holder of the turn calls it.

internal import Events
public import Platform

/// The file of `--rejects`: one JSON object a line with where, why and the line itself.
public final class Rejects: Sendable {
    let path: String
    private let descriptor: Descriptor

    /// Opens the file for appending; it is made for its owner alone.
    public init(path: String) throws(SystemFault) {
        self.path = path
        descriptor = try Descriptor(appendingTo: path, mode: 0o600)
    }

    func write(_ lines: borrowing ByteBuffer) throws(SystemFault) { try descriptor.write(lines.bytes) }
}

final class FaultLog {
    /// How many faults are told one by one.
    static let toldSingly = 20

    private let source: String
    private let showInput: Bool
    private let rejects: Rejects?
    private let say: @Sendable (String) -> Void
    private(set) var count = 0
    private var nextMilestone = 100
    private var rejectsFailed = false

    init(source: String, showInput: Bool, rejects: Rejects?, say: @escaping @Sendable (String) -> Void) {
        self.source = source
        self.showInput = showInput
        self.rejects = rejects
        self.say = say
    }

    /// `before`: how many lines of the source came before the block.
    func note(_ faults: [LineFault], before: Int, in block: borrowing Block) {
        guard !faults.isEmpty else { return }
        for fault in faults {
            count += 1
            if count <= FaultLog.toldSingly {
                var line = "\(source):\(before + fault.line):\(fault.column): \(fault.message)"
                if showInput, !fault.text.isEmpty { line += ": \(excerpt(fault.text, block))" }
                say(line)
            }
        }
        if count > FaultLog.toldSingly, count >= nextMilestone {
            say("\(source): \(grouped(count)) invalid lines so far")
            while nextMilestone <= count { nextMilestone *= 10 }
        }
        keep(faults, before, block)
    }

    /// The last word on what was not told one by one.
    func sumUp() {
        let untold = count - FaultLog.toldSingly
        if untold > 0 { say("\(source): and \(grouped(untold)) more invalid lines, \(grouped(count)) in all") }
    }

    private func excerpt(_ range: Range<Int>, _ block: borrowing Block) -> String {
        let shown = 200
        let bytes = UnsafeRawBufferPointer(rebasing: block.text.bytes[range])
        return printable(bytes.prefix(shown)) + (bytes.count > shown ? "…" : "")
    }

    private func keep(_ faults: [LineFault], _ before: Int, _ block: borrowing Block) {
        guard let rejects, !rejectsFailed else { return }
        var lines = ByteBuffer(capacity: 4096)
        for fault in faults {
            lines.append("{\"source\":\(jsonQuoted(source)),\"line\":\(before + fault.line),\"column\":\(fault.column)")
            lines.append(",\"reason\":\(jsonQuoted(fault.message))")
            let bytes = UnsafeRawBufferPointer(rebasing: block.text.bytes[fault.text])
            if let text = String(validating: bytes, as: UTF8.self) {
                lines.append(",\"input\":\(jsonQuoted(text))}\n")
            } else {
                lines.append(",\"input_base64\":\"\(base64(bytes))\"}\n")
            }
        }
        do throws(SystemFault) {
            try rejects.write(lines)
        } catch {
            rejectsFailed = true
            say("rejected lines are no longer kept in \(rejects.path): \(error)")
        }
    }
}
