// Invalid lines, told and kept. Each costs nothing but itself: the first are named one by one, many are summed up, and
// the text is shown or kept only when asked for, since it may be private. Only the holder of the turn calls it.

internal import Events
public import Platform
internal import Workers

/// The file of `--rejects`: one JSON object a line with where, why and the line itself.
public final class Rejects: Sendable {
    let path: String
    private let file: Monitor<AppendFile?>

    /// Opens the file for appending; it is made for its owner alone.
    public init(path: String) throws(SystemFault) {
        self.path = path
        file = Monitor(try AppendFile(path: path))
    }

    /// Opens the file anew with the next line, since it may have been moved away.
    func reopen() { file.withLock { $0 = nil } }

    func append(_ lines: borrowing ByteBuffer) throws(SystemFault) {
        let bytes = lines.bytes
        try file.withLock { (file) throws(SystemFault) in
            if file == nil { file = try AppendFile(path: path) }
            try file?.append(bytes)
        }
    }
}

final class FaultLog {
    /// How many faults are told one by one.
    static let toldSingly = 20

    private let source: String
    private let showInput: Bool
    private let rejects: Rejects?
    private let say: @Sendable (String) -> Void
    private(set) var count = 0
    /// How many lines of the source came so far.
    private var before = 0
    private var nextMilestone = 100
    /// Lines that `--rejects` asked to keep and that could not be kept.
    private(set) var unkept = 0

    init(source: String, showInput: Bool, rejects: Rejects?, say: @escaping @Sendable (String) -> Void) {
        self.source = source
        self.showInput = showInput
        self.rejects = rejects
        self.say = say
    }

    /// Of the next block of the source, which had so many lines.
    func note(_ faults: [LineFault], lines: Int, in block: borrowing Block) {
        defer { before += lines }
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
        keep(faults, block)
    }

    /// The last word on what was not told one by one.
    func sumUp() {
        let untold = count - FaultLog.toldSingly
        if unkept > 0, let rejects { say("\(grouped(unkept)) rejected lines could not be kept in \(rejects.path)") }
        if untold > 0 { say("\(source): and \(grouped(untold)) more invalid lines, \(grouped(count)) in all") }
    }

    private func excerpt(_ range: Range<Int>, _ block: borrowing Block) -> String {
        let shown = 200
        let bytes = UnsafeRawBufferPointer(rebasing: block.text.bytes[range])
        return printable(bytes.prefix(shown)) + (bytes.count > shown ? "…" : "")
    }

    private func keep(_ faults: [LineFault], _ block: borrowing Block) {
        guard let rejects else { return }
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
            try rejects.append(lines)
        } catch {
            if unkept == 0 { say("rejected lines cannot be kept in \(rejects.path): \(error)") }
            unkept += faults.count
        }
    }
}
