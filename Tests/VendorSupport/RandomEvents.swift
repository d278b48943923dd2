// Random events for a vendor's `map`: the shape of Segment, with members that are missing, of wrong types, and unknown.

internal import Seeded

public struct RandomEvents {
    private var random: Seeded

    public init(seed: UInt64) { random = Seeded(state: seed) }

    private static let types = ["track", "identify", "alias", "group", "page", "screen", "log", "", "tr\\u0061ck"]
    private static let texts = [
        "a", "", "u-1", "Signed Up", "é\\u0000\\n", "\\ud83d\\ude00", "\\ud83d", "anonymous", "null", "2026-11-21T05:49:23.123Z",
        "2026-13-41",
        "00000000-0000-0000-0000-000000000000", "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", String(repeating: "x", count: 300),
        String(repeating: "\\u00e9", count: 210),
    ]
    /// A number that no double can hold is not among them: many parsers refuse the body that has one, and the router finds the event.
    private static let numbers = ["0", "-1", "3.25", "123456789012345678901234567890", "-0.0"]
    private static let keys = [
        "type", "event", "name", "messageId", "anonymousId", "userId", "previousId", "groupId", "timestamp", "properties", "traits",
        "context",
        "ip", "page", "url", "os", "device", "$set", "$ip", "plan", "", "a.b", "\\u0074ype", "integrations", "revenue",
        "switchyard_unmapped",
    ]

    public mutating func event() -> String {
        var members: [String] = []
        if random.below(8) > 0 { members.append("\"type\":\"\(random.pick(RandomEvents.types))\"") }
        for (key, isText) in [
            ("event", true), ("name", true), ("messageId", true), ("userId", true), ("anonymousId", true), ("previousId", true),
            ("groupId", true), ("timestamp", true), ("properties", false), ("traits", false), ("context", false),
        ] where random.below(3) > 0 {
            let value = random.below(6) == 0 ? self.value(depth: 0) : isText ? text() : object(depth: 0)
            members.append("\"\(key)\":\(value)")
        }
        for index in 0..<random.below(3) { members.append("\"other\(index)\":\(value(depth: 0))") }
        members.shuffle(using: &random)
        let space = random.pick(["", " ", "\t "])
        return "{" + space + members.joined(separator: space + "," + space) + space + "}"
    }

    private mutating func text() -> String { "\"\(random.pick(RandomEvents.texts))\"" }

    private mutating func value(depth: Int) -> String {
        switch random.below(depth > 4 ? 4 : 7) {
        case 0: "null"
        case 1: random.pick(["true", "false"])
        case 2: random.pick(RandomEvents.numbers)
        case 3: text()
        case 4: "[" + (0..<random.below(4)).map { _ in value(depth: depth + 1) }.joined(separator: ", ") + "]"
        default: object(depth: depth + 1)
        }
    }

    private mutating func object(depth: Int) -> String {
        let members = (0..<random.below(6)).map { _ in "\"\(random.pick(RandomEvents.keys))\" : \(value(depth: depth + 1))" }
        // The router refuses an event in which a member that it reads comes twice, so each key comes once here.
        var seen: Set<String> = []
        return "{" + members.filter { seen.insert(String($0.prefix { $0 != " " })).inserted }.joined(separator: ",") + "}"
    }
}
