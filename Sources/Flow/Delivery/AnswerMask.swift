// Removes from the answer of a vendor what it repeats of a batch, before the answer reaches the log. An answer such as "no user u1" would
// otherwise put the ids of people there. The dead letters keep the whole answer, since they have the events too.

internal import Admission
internal import Queueing

enum AnswerMask {
    static let mark = "[…]"
    /// The most bytes of a batch that are searched. An answer to a larger batch is not shown at all.
    private static let most = 64 << 20

    /// Returns the outcome with answers that can be shown.
    static func masked(_ outcome: BatchOutcome, of batch: Batch) -> BatchOutcome {
        var masked = outcome
        masked.batch = self.masked(outcome.batch, in: batch.bytes)
        for (index, outcome) in outcome.events where batch.entries.indices.contains(index) {
            masked.events[index] = self.masked(outcome, in: batch.event(index))
        }
        return masked
    }

    private static func masked(_ outcome: Outcome, in bytes: UnsafeRawBufferPointer) -> Outcome {
        func shown(_ answer: Answer) -> Answer {
            var answer = answer
            answer.shown = text(answer, in: bytes)
            return answer
        }
        return switch outcome {
        case .delivered, .filtered, .untried: outcome
        case .rejected(let answer): .rejected(shown(answer))
        case .retry(let answer, let time): .retry(shown(answer), after: time)
        case .unknown(let answer): .unknown(shown(answer))
        case .fault(let answer): .fault(shown(answer))
        case .closed(let answer): .closed(shown(answer))
        }
    }

    /// Returns the text to show, or nil if the message itself may be shown.
    private static func text(_ answer: Answer, in bytes: UnsafeRawBufferPointer) -> String? {
        if answer.message.isEmpty { return nil }
        guard bytes.count <= most else { return "failed with code \(answer.code)" }
        let message = Array(answer.message.utf8)
        var hidden = [Bool](repeating: false, count: message.count)
        var known: Set<[UInt8]> = []
        var scalars = EventScalars(bytes)
        while let value = scalars.next() {
            guard isTelling(value, code: answer.code), known.insert(Array(value.bytes)).inserted else { continue }
            hide(value.bytes, in: message, &hidden)
        }
        guard hidden.contains(true) else { return nil }
        var text: [UInt8] = []
        for index in message.indices {
            if !hidden[index] {
                text.append(message[index])
            } else if index == 0 || !hidden[index - 1] {
                text += mark.utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// True if a value can tell who a person is: the value of a member that holds an id, an address or a name, or a text with a digit or an
    /// at sign. Other words, such as `track`, stay.
    private static func isTelling(_ value: EventScalars.Value, code: Int) -> Bool {
        guard value.bytes.count >= 2 else { return false }
        let key = value.key.map { $0 | 0x20 }
        for end in ["id", "ids", "email", "phone", "name", "address", "ip"] where key.suffix(end.utf8.count).elementsEqual(end.utf8) {
            return true
        }
        if value.bytes.contains(UInt8(ascii: "@")) { return true }
        return value.bytes.count >= 3 && value.bytes.contains { (0x30...0x39).contains($0) } && !value.bytes.elementsEqual("\(code)".utf8)
    }

    /// Marks each place of the message at which the value stands as a word of its own, in any case of its letters.
    private static func hide(_ value: ArraySlice<UInt8>, in message: [UInt8], _ hidden: inout [Bool]) {
        guard let first = value.first, value.count <= message.count else { return }
        for start in 0...(message.count - value.count) where lowered(message[start]) == lowered(first) {
            let end = start + value.count
            guard start == 0 || !isLetter(message[start - 1]) || !isLetter(first), end == message.count || !isLetter(message[end]) else {
                continue
            }
            if zip(message[start..<end], value).allSatisfy({ lowered($0) == lowered($1) }) {
                for index in start..<end { hidden[index] = true }
            }
        }
    }

    private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte >= 0x80
    }
}

/// Iterates over the strings and numbers of events, each with the key of its member. The bytes are valid JSON. Escapes stay as they are.
private struct EventScalars {
    struct Value {
        let key: ArraySlice<UInt8>
        let bytes: ArraySlice<UInt8>
    }

    private let text: [UInt8]
    private var at = 0
    private var key: ArraySlice<UInt8> = []

    init(_ bytes: UnsafeRawBufferPointer) { text = Array(bytes) }

    mutating func next() -> Value? {
        while at < text.count {
            let byte = text[at]
            if byte == UInt8(ascii: "\"") {
                let start = at + 1
                var end = start
                while end < text.count, text[end] != UInt8(ascii: "\"") { end += text[end] == UInt8(ascii: "\\") ? 2 : 1 }
                end = min(end, text.count)
                at = min(end + 1, text.count)
                var behind = at
                while behind < text.count, text[behind] == 0x20 || text[behind] == 0x09 { behind += 1 }
                if behind < text.count, text[behind] == UInt8(ascii: ":") {
                    key = text[start..<end]
                } else {
                    return Value(key: key, bytes: text[start..<end])
                }
            } else if byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) {
                let start = at
                while at < text.count, EventScalars.isOfNumber(text[at]) { at += 1 }
                return Value(key: key, bytes: text[start..<at])
            } else {
                at += 1
            }
        }
        return nil
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): true
        default: false
        }
    }
}
