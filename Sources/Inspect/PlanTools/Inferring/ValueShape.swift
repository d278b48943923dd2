// What the values at one place of the events were like: their types, the members of objects, the items of lists, and facts about strings. It
// keeps counts and a bounded number of names and short texts, and never a value that passes a limit.

internal import Events

/// The types of JSON Schema that were seen.
struct SeenTypes: OptionSet {
    let rawValue: UInt8
    static let string = SeenTypes(rawValue: 1)
    static let integer = SeenTypes(rawValue: 2)
    static let number = SeenTypes(rawValue: 4)
    static let boolean = SeenTypes(rawValue: 8)
    static let object = SeenTypes(rawValue: 16)
    static let array = SeenTypes(rawValue: 32)
    static let null = SeenTypes(rawValue: 64)

    /// The words of a schema. A number that is not whole covers the whole ones.
    var words: [String] {
        let all: [(SeenTypes, String)] = [
            (.string, "string"), (.integer, "integer"), (.number, "number"), (.boolean, "boolean"), (.object, "object"),
            (.array, "array"), (.null, "null"),
        ]
        return all.filter { contains($0.0) && !($0.0 == .integer && contains(.number)) }.map(\.1)
    }
}

/// Why the members of an object or the items of a list are not described.
enum Openness {
    case names, many, duplicate, deep, full, large

    var reason: String {
        switch self {
        case .names: "names look like identifiers"
        case .many: "there are more than \(InferenceLimits.members) names"
        case .duplicate: "a name stands twice in one object"
        case .deep: "it is nested more than \(InferenceLimits.levels) levels deep"
        case .full: "the plan has \(InferenceLimits.allMembers) members already"
        case .large: "an event has more than \(InferenceLimits.values) values there"
        }
    }
}

final class ValueShape {
    final class Member {
        let shape = ValueShape()
        /// The number of objects that have it.
        var count = 0
        /// The number of the last object that had it.
        var last = 0
    }

    /// The number of values.
    var count = 0
    var types: SeenTypes = []
    /// The number of values that were objects.
    private(set) var objects = 0
    /// By their names as bytes: two names that Swift takes for equal can be different keys.
    private(set) var members: [[UInt8]: Member] = [:]
    private(set) var order: [[UInt8]] = []
    private(set) var items: ValueShape?
    private(set) var strings = StringFacts()
    /// It is nil as long as members and items are described.
    private(set) var openness: Openness?

    func giveUp(_ reason: Openness) {
        openness = openness ?? reason
        members = [:]
        order = []
        items = nil
    }

    /// Notes the value that begins at `p`, in an event that was scanned.
    func see(_ p: Bytes, level: Int, _ walk: inout InferenceWalk) {
        count += 1
        walk.values += 1
        switch p[0] {
        case UInt8(ascii: "{"):
            types.insert(.object)
            objects += 1
            if openness == nil { seeMembers(p, level, &walk) }
        case UInt8(ascii: "["):
            types.insert(.array)
            if openness == nil { seeItems(p, level, &walk) }
        case UInt8(ascii: "\""):
            types.insert(.string)
            strings.see(ByteRun(base: p + 1, count: stringEnd(p) - p - 2), &walk)
        case UInt8(ascii: "t"), UInt8(ascii: "f"): types.insert(.boolean)
        case UInt8(ascii: "n"): types.insert(.null)
        default:
            let text = UnsafeBufferPointer(start: p, count: valueEnd(p) - p)
            types.insert(text.contains { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") } ? .number : .integer)
        }
    }

    private func seeMembers(_ start: Bytes, _ level: Int, _ walk: inout InferenceWalk) {
        guard level < InferenceLimits.levels else { return giveUp(.deep) }
        var p = skipSpace(start + 1)
        while p[0] != UInt8(ascii: "}") {
            let end = stringEnd(p)
            let name = walk.text(ByteRun(base: p + 1, count: end - p - 2))
            p = skipSpace(skipSpace(end) + 1)
            guard let member = member(name, &walk) else { return }
            member.shape.see(p, level: level + 1, &walk)
            if openness != nil { return }
            p = skipSpace(valueEnd(p))
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
    }

    /// Returns the member of the present object, or nil if the members are given up.
    private func member(_ name: [UInt8]?, _ walk: inout InferenceWalk) -> Member? {
        guard let name else {
            giveUp(.names)
            return nil
        }
        if let known = members[name] {
            guard known.last != objects else {
                giveUp(.duplicate)
                return nil
            }
            known.count += 1
            known.last = objects
            return known
        }
        var reason: Openness?
        if walk.membersLeft == 0 { reason = .full }
        if order.count == InferenceLimits.members { reason = .many }
        if IdentifierLooks.isLikelyName(name) { reason = .names }
        if let reason {
            giveUp(reason)
            return nil
        }
        walk.membersLeft -= 1
        let new = Member()
        new.count = 1
        new.last = objects
        members[name] = new
        order.append(name)
        return new
    }

    private func seeItems(_ start: Bytes, _ level: Int, _ walk: inout InferenceWalk) {
        guard level < InferenceLimits.levels else { return giveUp(.deep) }
        let items = self.items ?? ValueShape()
        self.items = items
        var p = skipSpace(start + 1)
        while p[0] != UInt8(ascii: "]") {
            guard walk.values < InferenceLimits.values else { return }
            items.see(p, level: level + 1, &walk)
            p = skipSpace(valueEnd(p))
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
    }
}
