// Makes emitted events from originals. An emitted event is the original without its properties, with the rule's members in place of its
// own. It has a mark, so that no rule ever emits another event for it. If the original has an id, the id of the event is computed from it.
// It keeps the original's context, and with it the consent. Routes judge it like any other event.

internal import Editing
internal import Events
internal import Expressions

struct EmitPiece: BitwiseCopyable {
    let text: ByteRun
    /// The index of the ruleset's expression whose value comes behind the text. It is -1 if there is none.
    let expression: Int
}

struct EmitRule: BitwiseCopyable {
    /// The index of the ruleset's expression that must be true for the original.
    let condition: Int
    /// The edit that drops what is replaced from the original and sets the mark.
    let edit: Int
    /// The pieces that come behind the edited original.
    let pieces: UnsafeBufferPointer<EmitPiece>
}

struct Emitter: ~Copyable {
    /// The key for the original's id. It is constant, so that an original that is sent again gives an event with the same id.
    private static let key = Array("switchyard emits".utf8)

    private let rules: UnsafeBufferPointer<EmitRule>
    private let markSlot: Int
    private let messageIDSlot: Int
    private let key = SipKey(Emitter.key)
    private var decoder = Decoder()
    private var scanner: Scanner
    /// The events that were emitted for one original, one line each.
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

    /// Makes the events that the rules emit for the event. Returns how many rules emitted nothing because an expression failed.
    mutating func make(
        of event: ScannedEvent, editor: inout Editor, _ context: inout EventContext
    ) -> Int {
        lines.removeAll()
        starts.removeAll(keepingCapacity: true)
        guard !event.slots[markSlot].isPresent else { return 0 }
        var errors = 0
        for (index, rule) in rules.enumerated() {
            context.steps.beginRule()
            switch context.decide(rule.condition, event) {
            case .no: continue
            case .error: errors += 1
            case .yes:
                let start = lines.count
                if write(index, event: event, editor: &editor, &context) {
                    starts.append(UInt32(truncatingIfNeeded: start))
                } else {
                    lines.truncate(to: start)
                    errors += 1
                }
            }
        }
        // The scanner needs this space behind the text.
        lines.reserve(Words.slack)
        return errors
    }

    /// Returns the emitted event with this index. It is valid until the next call. Returns nil if the line is not a valid event.
    mutating func event(_ index: Int) -> ScannedEvent? { scanner.scan(Bytes(lines.base), starts[index]) }

    /// Returns the line of the emitted event with this index, without its newline.
    func line(_ index: Int) -> [UInt8] {
        let end = index + 1 < starts.count ? Int(starts[index + 1]) : lines.count
        assert(lines.base[end - 1] == UInt8(ascii: "\n"), "an emitted event does not end its line")
        return Array(lines.bytes[Int(starts[index])..<end - 1])
    }

    // MARK: - One line

    private mutating func write(
        _ index: Int, event: ScannedEvent, editor: inout Editor, _ context: inout EventContext
    ) -> Bool {
        let rule = rules[index]
        lines.reserve(Int(event.end - event.start) + editor.growth(rule.edit) + Words.slack)
        var writer = EditWriter(block: event.block, out: lines.base + lines.count, id: .max)
        editor.write(event, root: rule.edit, turn: context.turn, to: &writer)
        lines.extend(by: writer.out - (lines.base + lines.count))
        // The copy has at least its context, so a comma may follow. Its last byte is the closing brace, which is cut off.
        assert(lines.base[lines.count - 1] == UInt8(ascii: "}"), "an edited copy ends with its brace")
        lines.truncate(to: lines.count - 1)
        for piece in rule.pieces {
            lines.append(piece.text.base, piece.text.count)
            guard piece.expression >= 0 else { continue }
            if !context.evaluator.write(piece.expression, event: event, around: context.around, to: &lines) { return false }
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
