// Makes second events from first ones. What it makes is the original without its properties, with the rule's members in place of its
// own, marked so that nothing is made of it again, and under an id that follows from the original's. It keeps the original's context,
// and so its consent. It goes the way of every other event.

internal import Editing
internal import Events
internal import Expressions

struct EmitPiece: BitwiseCopyable {
    let text: ByteRun
    /// Which of the ruleset's expressions comes behind the text; -1: none.
    let expression: Int
}

struct EmitRule: BitwiseCopyable {
    /// Which of the ruleset's expressions must hold of the original.
    let condition: Int
    /// The edit that makes of the original what stays of it.
    let edit: Int
    /// What comes behind that.
    let pieces: UnsafeBufferPointer<EmitPiece>
}

struct Emitter: ~Copyable {
    /// The original's id is hashed under a constant: whoever sends the event again makes the same of it.
    private static let key = Array("switchyard emits".utf8)

    private let rules: UnsafeBufferPointer<EmitRule>
    private let markSlot: Int
    private let messageIDSlot: Int
    private let key = SipKey(Emitter.key)
    private var decoder = Decoder()
    private var scanner: Scanner
    /// What was made of one event, a line each.
    private var lines = ByteBuffer()
    private var starts: [UInt32] = []

    init(_ rules: UnsafeBufferPointer<EmitRule>, markSlot: Int, messageIDSlot: Int, paths: PathTrie) {
        self.rules = rules
        self.markSlot = markSlot
        self.messageIDSlot = messageIDSlot
        scanner = Scanner(paths, depth: rules.isEmpty ? 1 : Scanner.deepest)
    }

    @inline(__always) var isIdle: Bool { rules.isEmpty }
    var count: Int { starts.count }

    /// Makes what the rules make of the event. How many of their expressions erred, and so made nothing.
    mutating func make(
        of event: ScannedEvent, _ evaluator: inout Evaluator, _ editor: inout Editor, _ around: EvaluationContext, turn: UInt64
    ) -> Int {
        lines.removeAll()
        starts.removeAll(keepingCapacity: true)
        guard !event.slots[markSlot].isPresent else { return 0 }
        var errors = 0
        for (index, rule) in rules.enumerated() {
            switch evaluator.decide(rule.condition, event, around) {
            case .no: continue
            case .error: errors += 1
            case .yes:
                let start = lines.count
                if write(index, event, &evaluator, &editor, around, turn) {
                    starts.append(UInt32(truncatingIfNeeded: start))
                } else {
                    lines.truncate(to: start)
                    errors += 1
                }
            }
        }
        // As a scanner wants it.
        lines.reserve(Words.slack)
        return errors
    }

    /// The made event of this index; it is valid until the next one is asked for. nil: what was made is none.
    mutating func event(_ index: Int) -> ScannedEvent? { scanner.scan(Bytes(lines.base), starts[index]) }

    /// The line of the made event with this index, without its end.
    func line(_ index: Int) -> [UInt8] {
        let end = index + 1 < starts.count ? Int(starts[index + 1]) : lines.count
        return Array(lines.bytes[Int(starts[index])..<end - 1])
    }

    // MARK: - One line

    private mutating func write(
        _ index: Int, _ event: ScannedEvent, _ evaluator: inout Evaluator, _ editor: inout Editor, _ around: EvaluationContext, _ turn: UInt64
    ) -> Bool {
        let rule = rules[index]
        lines.reserve(Int(event.end - event.start) + editor.growth(rule.edit) + Words.slack)
        var writer = EditWriter(block: event.block, out: lines.base + lines.count, id: .max)
        editor.write(event, root: rule.edit, turn: turn, to: &writer)
        lines.extend(by: writer.out - (lines.base + lines.count))
        // Its context stays, so that it has a member, and its end is its brace.
        lines.truncate(to: lines.count - 1)
        for piece in rule.pieces {
            lines.append(piece.text.base, piece.text.count)
            if piece.expression >= 0, !evaluator.write(piece.expression, event, around, to: &lines) { return false }
        }
        writeID(index, event)
        lines.append("}\n")
        return true
    }

    private mutating func writeID(_ index: Int, _ event: ScannedEvent) {
        guard let original = decoder.identity(event.slots[messageIDSlot], in: event.block, booleans: false) else { return }
        let hash = key.hash128(original)
        let (low, high) = withUnsafeBytes(of: (hash.low, hash.high, UInt64(index))) { words in
            key.hash128(ByteRun(base: words.baseAddress!.assumingMemoryBound(to: UInt8.self), count: words.count))
        }
        lines.append(",\"messageId\":\"")
        lines.reserve(MessageIDs.length)
        UUIDText.write(
            high & 0xffff_ffff_ffff_0fff | 0x8000, low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000, to: lines.base + lines.count)
        lines.extend(by: 36)
        lines.append(UInt8(ascii: "\""))
    }
}
