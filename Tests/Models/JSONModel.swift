import Editing
import Events
import Plans

/// A JSON value that keeps order, duplicates and raw text. It is slow and obviously correct. Transforms are applied to it one after the
/// other, exactly as they are described.
final class Node {
    final class Member {
        /// The key as it is written, in quotes.
        var rawKey: String
        var key: String
        var value: Node
        /// True if the member came with the event. If it is dropped, it keeps its position, since it can be set again.
        var isOwn: Bool
        var isDropped = false
        init(rawKey: String, key: String, value: Node, isOwn: Bool) {
            self.rawKey = rawKey
            self.key = key
            self.value = value
            self.isOwn = isOwn
        }
    }

    /// The exact text of a value. It is nil for an object in which something has changed.
    var raw: String?
    /// The members of an object. It is nil for other values.
    var members: [Member]?
    /// True if the value is the hash of an object whose spaces the model does not know.
    var isSomeHash = false

    init(raw: String?, members: [Member]? = nil) {
        self.raw = raw
        self.members = members
    }

    func live(_ key: String) -> Member? { members?.first { $0.key == key && !$0.isDropped } }

    /// The text, without spaces except in unchanged values.
    var text: String {
        if let raw { return raw }
        return "{" + members!.filter { !$0.isDropped }.map { "\($0.rawKey):\($0.value.text)" }.joined(separator: ",") + "}"
    }

    // MARK: - Transforms

    @discardableResult func drop(_ path: ArraySlice<String>) -> Bool {
        guard let member = live(path.first!) else { return false }
        if path.count > 1 {
            guard member.value.drop(path.dropFirst()) else { return false }
        } else {
            member.isDropped = true
            if !member.isOwn { members!.removeAll { $0 === member } }
        }
        raw = nil
        return true
    }

    func set(_ path: ArraySlice<String>, _ json: String) {
        guard let key = path.first else {
            let new = ModelParser.parse(json, own: false)
            (raw, members) = (new.raw, new.members)
            isSomeHash = false
            return
        }
        raw = nil
        isSomeHash = false
        if members == nil { members = [] }
        let member: Member
        if let found = members!.first(where: { $0.key == key && (!$0.isDropped || $0.isOwn) }) {
            member = found
            if member.isDropped {
                member.value = Node(raw: nil, members: [])
                member.isDropped = false
            }
        } else {
            member = Member(
                rawKey: "\"\(key.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\""))\"", key: key,
                value: Node(raw: nil, members: []), isOwn: false)
            members!.append(member)
        }
        member.value.set(path.dropFirst(), json)
    }

    @discardableResult func hash(_ path: ArraySlice<String>, _ secret: String, isSpaced: Bool) -> Bool {
        if let key = path.first {
            guard let member = live(key), member.value.hash(path.dropFirst(), secret, isSpaced: isSpaced) else { return false }
            raw = nil
            return true
        }
        if raw == "null" { return false }
        isSomeHash = isSomeHash || isSpaced && raw == nil
        let message = text
        let bytes = message.first == "\"" ? ModelParser.bytes(message) : Array(message.utf8)
        raw = "\"" + referenceHMAC(Array(secret.utf8), bytes) + "\""
        members = nil
        return true
    }

    func apply(_ steps: [any Step], secrets: [String], isSpaced: Bool) {
        for step in steps {
            switch step {
            case let step as DropStep: for path in step.paths { drop(path.keys[...]) }
            case let step as SetStep where step.readPaths.isEmpty:
                for member in step.members {
                    guard case .json(let json) = member.value else { preconditionFailure("the model knows constants only") }
                    set(member.path.keys[...], json)
                }
            case let step as HashStep: for path in step.paths { hash(path.keys[...], secrets[step.key], isSpaced: isSpaced) }
            default:
                settle()
                apply(step)
                settle()
            }
        }
    }

    /// Returns how the actual value differs from this one, which is expected. It is nil if they are equal.
    func difference(_ actual: Node, at place: String = "$") -> String? {
        if isSomeHash { return actual.raw?.utf8.count == 66 ? nil : "\(place): not a hash: \(actual.text)" }
        if let raw { return raw == actual.raw ? nil : "\(place): \(actual.text) instead of \(raw)" }
        guard let theirs = actual.members else { return "\(place): not an object: \(actual.text)" }
        let ours = members!.filter { !$0.isDropped }
        guard ours.map(\.rawKey) == theirs.map(\.rawKey) else { return "\(place): \(theirs.map(\.rawKey)), not \(ours.map(\.rawKey))" }
        for (our, their) in zip(ours, theirs) {
            if let difference = our.value.difference(their.value, at: "\(place).\(our.key)") { return difference }
        }
        return nil
    }
}

/// Reads JSON strictly. It traps if the text is not valid.
struct ModelParser {
    private let bytes: [UInt8]
    private var at = 0
    private let isOwn: Bool

    static func parse(_ text: String, own: Bool = true) -> Node {
        var parser = ModelParser(bytes: Array(text.utf8), isOwn: own)
        parser.space()
        let node = parser.value()
        parser.space()
        precondition(parser.at == parser.bytes.count, "text after the value in \(text)")
        return node
    }

    private init(bytes: [UInt8], isOwn: Bool) {
        self.bytes = bytes
        self.isOwn = isOwn
    }

    private mutating func space() { while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x09 { at += 1 } }

    private mutating func expect(_ byte: String) {
        precondition(at < bytes.count && bytes[at] == byte.utf8.first!, "\(byte) at \(at) in \(String(decoding: bytes, as: UTF8.self))")
        at += 1
    }

    private func text(_ from: Int) -> String { String(decoding: bytes[from..<at], as: UTF8.self) }

    private mutating func string() -> String {
        let start = at
        expect("\"")
        while bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
        at += 1
        return text(start)
    }

    private mutating func value() -> Node {
        let start = at
        switch bytes[at] {
        case UInt8(ascii: "{"):
            var members: [Node.Member] = []
            sequence(end: "}") { parser in
                let key = parser.string()
                parser.space()
                parser.expect(":")
                parser.space()
                let value = parser.value()
                members.append(.init(rawKey: key, key: ModelParser.decoded(key) ?? key, value: value, isOwn: parser.isOwn))
            }
            return Node(raw: text(start), members: members)
        case UInt8(ascii: "["): sequence(end: "]") { parser in _ = parser.value() }
        case UInt8(ascii: "\""): _ = string()
        default:
            while at < bytes.count, !" \t,]}".utf8.contains(bytes[at]) { at += 1 }
            let word = text(start)
            precondition(["true", "false", "null"].contains(word) || Double(word) != nil, "\(word) is not a value")
        }
        return Node(raw: text(start))
    }

    private mutating func sequence(end: String, _ element: (inout ModelParser) -> Void) {
        at += 1
        space()
        if bytes[at] == end.utf8.first! {
            at += 1
            return
        }
        while true {
            element(&self)
            space()
            if bytes[at] != UInt8(ascii: ",") { break }
            at += 1
            space()
        }
        expect(end)
    }

    /// Returns the text of a string in quotes. It is nil if the string holds a lone surrogate.
    static func decoded(_ raw: String) -> String? { String(validating: units(raw), as: UTF16.self) }

    /// Returns the bytes of a string in quotes. A lone surrogate has the three bytes that it would have as a character.
    static func bytes(_ raw: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = units(raw)[...]
        while let unit = rest.popFirst() {
            if unit & 0xfc00 == 0xd800, let low = rest.first, low & 0xfc00 == 0xdc00 {
                bytes += Array(String(decoding: [unit, rest.removeFirst()], as: UTF16.self).utf8)
            } else if unit & 0xf800 == 0xd800 {
                bytes += [0xe0 | UInt8(unit >> 12), 0x80 | UInt8(unit >> 6 & 0x3f), 0x80 | UInt8(unit & 0x3f)]
            } else {
                bytes += Array(String(decoding: [unit], as: UTF16.self).utf8)
            }
        }
        return bytes
    }

    /// Returns the UTF-16 code units of a string in quotes.
    private static func units(_ raw: String) -> [UInt16] {
        var units: [UInt16] = []
        var rest = Array(raw.utf16).dropFirst().dropLast()
        while let unit = rest.popFirst() {
            guard unit == 0x5c else {
                units.append(unit)
                continue
            }
            let escape = rest.popFirst()!
            switch UnicodeScalar(escape)! {
            case "u":
                units.append(UInt16(String(decoding: rest.prefix(4), as: UTF16.self), radix: 16)!)
                rest = rest.dropFirst(4)
            case "n": units.append(10)
            case "t": units.append(9)
            case "r": units.append(13)
            case "b": units.append(8)
            case "f": units.append(12)
            default: units.append(escape)
            }
        }
        return units
    }
}
