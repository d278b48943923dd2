// Where the workers get their blocks: from standard input itself, when that is the only source, so that nothing lies between; or from
// the inbox where listeners, followed files and standard input leave what they have.

internal import Events
internal import Ingest
internal import Platform
internal import Workers

struct Inflow: ~Copyable {
    private var reader: LineReader?
    private let inbox: Inbox?

    init(_ reader: consuming LineReader) {
        self.reader = consume reader
        inbox = nil
    }

    init(_ inbox: Inbox) {
        reader = nil
        self.inbox = inbox
    }

    /// Fills the block, waiting while there is nothing to be had. `portions` gets what of it was submitted by whom.
    mutating func next(_ block: inout Block, _ portions: inout [Inbox.Portion]) -> Intake {
        if let inbox { return inbox.next(&block, &portions) }
        return reader?.next(&block.text) ?? .end
    }
}

/// Standard input beside other sources: a thread of its own reads it into the inbox.
struct Feeder {
    let inbox: Inbox
    let source: Int
    /// Told of the last words of the input: a fault, or a line that had not ended.
    let ended: @Sendable (Intake) -> Void

    /// Until the input ends or is stopped. The inbox counts on it since before the thread was started.
    func run(_ reader: consuming LineReader) {
        var reader = reader
        defer { inbox.leave() }
        while true {
            var text = ByteBuffer()
            let intake = reader.next(&text)
            switch intake {
            case .lines: inbox.put(text, source: source)
            case .overlong(let bytes): inbox.put(overlong: bytes, source: source)
            case .end, .stopped, .failed: return ended(intake)
            }
        }
    }
}

/// What is told to those who submitted the portions of a block.
enum Answers {
    /// To be called when the block is safe; nil: nobody asked.
    static func make(_ portions: [Inbox.Portion], _ faults: [LineFault]) -> (@Sendable () -> Void)? {
        guard !portions.isEmpty else { return nil }
        let invalid = invalid(portions, faults)
        return {
            for (portion, lines) in zip(portions, invalid) { portion.answer(.stored(invalid: lines)) }
        }
    }

    /// The faults of each portion, its lines counted from 0.
    private static func invalid(_ portions: [Inbox.Portion], _ faults: [LineFault]) -> [[InvalidLine]] {
        var next = 0
        var before = 0
        return portions.map { portion in
            var lines: [InvalidLine] = []
            while next < faults.count, faults[next].line <= before + portion.lines {
                let fault = faults[next]
                lines.append(InvalidLine(line: fault.line - before - 1, message: "\(fault.message), at byte \(fault.column)"))
                next += 1
            }
            before += portion.lines
            return lines
        }
    }
}
