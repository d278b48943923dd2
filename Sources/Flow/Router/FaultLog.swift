// Reports and keeps invalid lines. An invalid line affects no other line. The first invalid lines are reported one by one, the others
// only as totals. Their text is shown or kept only if the user asks for it, since it may be private. Only the worker that has the turn
// calls a `FaultLog`.

internal import Events
public import Platform
internal import Workers

/// The file of `--rejects`. Each line is a JSON object with the place, the reason and the invalid line.
public final class Rejects: Sendable {
    let path: String
    private let file: Monitor<AppendFile?>

    /// Opens the file for appending. Only its owner can read a new file.
    public init(path: String) throws(SystemFault) {
        self.path = path
        file = Monitor(try AppendFile(path: path))
    }

    /// Makes the next line reopen the file, since it may have been moved away.
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
    /// The number of faults that are reported one by one.
    static let reportedSingly = 20

    private let source: String
    private let showInput: Bool
    private let rejects: Rejects?
    private let say: @Sendable (String) -> Void
    private(set) var count = 0
    /// The number of lines of the source before the current block.
    private var before = 0
    private var nextMilestone = 100
    /// The number of lines that could not be written to the file of `--rejects`.
    private(set) var unkept = 0

    init(source: String, showInput: Bool, rejects: Rejects?, say: @escaping @Sendable (String) -> Void) {
        self.source = source
        self.showInput = showInput
        self.rejects = rejects
        self.say = say
    }

    /// Reports the faults of the next block of the source, which had that number of lines.
    func note(_ faults: [LineFault], lines: Int, in block: borrowing Block) {
        defer { before += lines }
        guard !faults.isEmpty else { return }
        assert(faults.allSatisfy { (1...max(1, lines)).contains($0.line) }, "a fault is in no line of its block")
        for fault in faults {
            count += 1
            if count <= FaultLog.reportedSingly {
                var line = "\(source):\(place(of: fault)):\(fault.column): \(fault.message)"
                if showInput, !fault.text.isEmpty { line += ": \(excerpt(fault.text, block))" }
                say(line)
            }
        }
        if count > FaultLog.reportedSingly, count >= nextMilestone {
            say("\(source): \(grouped(count)) invalid lines so far")
            while nextMilestone <= count { nextMilestone *= 10 }
        }
        keep(faults, block)
    }

    /// Returns the number of the line in its source, or where it comes from if its source said that.
    private func place(of fault: LineFault) -> String {
        guard let origin = fault.origin else { return "\(before + fault.line)" }
        let name = printable(origin.name)
        guard let number = origin.number else { return name.isEmpty ? "\(before + fault.line)" : name }
        return name.isEmpty ? "\(number)" : "\(name):\(number)"
    }

    /// Reports the totals of the faults that were not reported one by one.
    func sumUp() {
        let unreported = count - FaultLog.reportedSingly
        if unkept > 0, let rejects { say("\(grouped(unkept)) rejected lines could not be kept in \(rejects.path)") }
        if unreported > 0 { say("\(source): and \(grouped(unreported)) more invalid lines, \(grouped(count)) in all") }
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
            if let origin = fault.origin {
                if !origin.name.isEmpty { lines.append(",\"origin\":\(jsonQuoted(origin.name))") }
                if let number = origin.number { lines.append(",\"number\":\(number)") }
            }
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
