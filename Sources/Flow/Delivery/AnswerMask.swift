// Removes from the answer of a vendor what it repeats of a batch or of an erasure, before the answer reaches the log. An answer such as "no
// user u1" would otherwise put the ids of people there. The dead letters keep the whole answer, since they have the events too.

internal import Admission
internal import Glibc
internal import Platform
internal import Queueing

public enum AnswerMask {
    static let mark = "[…]"

    /// Returns the outcome with answers that can be shown.
    static func masked(_ outcome: BatchOutcome, of batch: Batch) -> BatchOutcome {
        var masked = outcome
        masked.batch = self.masked(outcome.batch, in: batch.bytes)
        for (index, outcome) in outcome.events where batch.entries.indices.contains(index) {
            masked.events[index] = self.masked(outcome, in: batch.event(index))
        }
        return masked
    }

    /// Returns the message without these ids, also as they stand in a JSON string or in a URL.
    public static func text(_ message: String, hiding ids: [String]) -> String {
        var masked = MaskedMessage(message)
        for id in ids {
            for form in Set([id, String(jsonQuoted(id).dropFirst().dropLast()), percentEncoded(id)]) {
                Array(form.utf8).withUnsafeBytes { bytes in
                    if masked.canHold(bytes[...]) { masked.hide(bytes[...]) }
                }
            }
        }
        return masked.text ?? message
    }

    private static func percentEncoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
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
        var message = MaskedMessage(answer.message)
        var scalars = EventScalars(bytes)
        while let value = scalars.next() {
            if message.canHold(value.bytes), isTelling(value, code: answer.code) { message.hide(value.bytes) }
        }
        return message.text
    }

    /// True if a value can tell who a person is: the value of a member that holds an id, an address or a name, or a text with a digit or an
    /// at sign. Other words, such as `track`, stay.
    private static func isTelling(_ value: EventScalars.Value, code: Int) -> Bool {
        guard value.bytes.count >= 2 else { return false }
        for end in ["id", "ids", "email", "phone", "name", "address", "ip"] {
            let key = value.key.suffix(end.utf8.count)
            if key.count == end.utf8.count, zip(key, end.utf8).allSatisfy({ $0 | 0x20 == $1 }) { return true }
        }
        if value.bytes.contains(UInt8(ascii: "@")) { return true }
        return value.bytes.count >= 3 && value.bytes.contains { (0x30...0x39).contains($0) } && !value.bytes.elementsEqual("\(code)".utf8)
    }
}

/// A message in which values are hidden.
private struct MaskedMessage {
    private let message: [UInt8]
    private var hidden: [Bool]
    /// True for each byte with which a word of the message can begin, in lower case. Most values are told from the message by this alone.
    private var firsts = [Bool](repeating: false, count: 256)

    init(_ text: String) {
        message = Array(text.utf8)
        hidden = Array(repeating: false, count: message.count)
        for byte in message { firsts[Int(MaskedMessage.lowered(byte))] = true }
    }

    func canHold(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let first = value.first, value.count <= message.count else { return false }
        return firsts[Int(MaskedMessage.lowered(first))]
    }

    /// Hides each place of the message at which the value stands as a word of its own, in any case of its letters.
    mutating func hide(_ value: Slice<UnsafeRawBufferPointer>) {
        guard let first = value.first else { return }
        for start in 0...(message.count - value.count) where MaskedMessage.lowered(message[start]) == MaskedMessage.lowered(first) {
            let end = start + value.count
            let beginsAlone = start == 0 || !MaskedMessage.isLetter(message[start - 1]) || !MaskedMessage.isLetter(first)
            guard beginsAlone, end == message.count || !MaskedMessage.isLetter(message[end]) else { continue }
            if zip(message[start..<end], value).allSatisfy({ MaskedMessage.lowered($0) == MaskedMessage.lowered($1) }) {
                for index in start..<end { hidden[index] = true }
            }
        }
    }

    /// The message with a mark in the place of what is hidden. It is nil if nothing is.
    var text: String? {
        guard hidden.contains(true) else { return nil }
        var text: [UInt8] = []
        for index in message.indices {
            if !hidden[index] {
                text.append(message[index])
            } else if index == 0 || !hidden[index - 1] {
                text += AnswerMask.mark.utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte >= 0x80
    }
}

/// Iterates over the strings and numbers of events, each with the key of its member. The bytes are valid JSON. Escapes stay as they are.
private struct EventScalars {
    struct Value {
        let key: Slice<UnsafeRawBufferPointer>
        let bytes: Slice<UnsafeRawBufferPointer>
    }

    private let text: UnsafeRawBufferPointer
    private var at = 0
    private var key: Range<Int> = 0..<0

    init(_ bytes: UnsafeRawBufferPointer) { text = bytes }

    mutating func next() -> Value? {
        while at < text.count {
            let byte = text[at]
            if byte == UInt8(ascii: "\"") {
                let start = at + 1
                let end = endOfString(from: start)
                at = min(end + 1, text.count)
                var behind = at
                while behind < text.count, text[behind] == 0x20 || text[behind] == 0x09 { behind += 1 }
                if behind < text.count, text[behind] == UInt8(ascii: ":") {
                    key = start..<end
                } else {
                    return Value(key: text[key], bytes: text[start..<end])
                }
            } else if byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) {
                let start = at
                while at < text.count, EventScalars.isOfNumber(text[at]) { at += 1 }
                return Value(key: text[key], bytes: text[start..<at])
            } else {
                at += 1
            }
        }
        return nil
    }

    /// Returns the place of the quote that ends a string. An event can have megabytes of text, so the quote is searched by the library.
    private func endOfString(from start: Int) -> Int {
        var from = start
        while from < text.count, let found = memchr(text.baseAddress! + from, Int32(UInt8(ascii: "\"")), text.count - from) {
            let place = UnsafeRawPointer(found) - text.baseAddress!
            var slashes = 0
            while place - 1 - slashes >= start, text[place - 1 - slashes] == UInt8(ascii: "\\") { slashes += 1 }
            if slashes % 2 == 0 { return place }
            from = place + 1
        }
        return text.count
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): true
        default: false
        }
    }
}
