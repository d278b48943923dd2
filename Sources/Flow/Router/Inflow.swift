// The source of the workers' blocks. If standard input is the only source, workers read it directly, without a queue between. Otherwise
// they read from the inbox, which listeners, followed files and standard input fill.

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

    /// Fills the block, and waits while there is no input. The submissions are nil if nobody wants an answer.
    mutating func next(_ block: inout Block) -> (intake: Intake, submissions: Submissions?) {
        if let inbox { return inbox.next(&block) }
        return (reader?.next(&block.text) ?? .end, nil)
    }
}

/// Reads standard input into the inbox on a thread of its own, if there are other sources too.
struct Feeder {
    let inbox: Inbox
    let source: Int
    /// Called once with the last intake of the input: its end, a fault, or a stop that may have left an unfinished line.
    let ended: @Sendable (Intake) -> Void

    /// Runs until the input ends or is stopped. `inbox.join` was called before this thread was started.
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

/// The answers to the submissions of a block.
enum Answers {
    /// Returns the function to call when the block is safe. It returns nil if nobody waits for an answer.
    static func make(_ portions: [Submissions.Portion], _ faults: [LineFault]) -> (@Sendable () -> Void)? {
        guard !portions.isEmpty else { return nil }
        let invalid = invalid(portions, faults)
        assert(invalid.reduce(0) { $0 + $1.count } == faults.count, "a fault belongs to no submission")
        return {
            for (portion, lines) in zip(portions, invalid) { portion.answer(.stored(invalid: lines)) }
        }
    }

    /// Replaces the reasons of faults whose submitter knows them better. Such a line was made by the submitter, so its text is not kept.
    /// Adds where the lines come from, if the submitter said it.
    static func explained(_ faults: [LineFault], _ portions: [Submissions.Portion]) -> [LineFault] {
        var faults = faults
        var next = 0
        var before = 0
        for portion in portions where next < faults.count {
            while next < faults.count, faults[next].line <= before + portion.lines {
                let line = faults[next].line - before - 1
                if let reason = portion.reasons[line] {
                    (faults[next].message, faults[next].column, faults[next].text) = (reason, 1, 0..<0)
                }
                if let origin = portion.origin {
                    let number = origin.numbers.indices.contains(line) ? origin.numbers[line] : nil
                    faults[next].origin = LineFault.Origin(name: origin.name, number: number)
                }
                next += 1
            }
            before += portion.lines
        }
        return faults
    }

    /// Returns the faults of each portion. The lines of each portion are counted from 0.
    private static func invalid(_ portions: [Submissions.Portion], _ faults: [LineFault]) -> [[InvalidLine]] {
        var next = 0
        var before = 0
        return portions.map { portion in
            var lines: [InvalidLine] = []
            while next < faults.count, faults[next].line <= before + portion.lines {
                let fault = faults[next]
                let line = fault.line - before - 1
                let message = portion.reasons[line] ?? "\(fault.message), at byte \(fault.column)"
                lines.append(InvalidLine(line: line, message: message))
                next += 1
            }
            before += portion.lines
            return lines
        }
    }
}
