// Makes events for the modules of vendors: random ones in the shape of the canonical event, nearly valid lines, and events at the limits of
// a vendor: names, ids, values, numbers of members, depth and size just below, at and just above each limit. The same seed gives the same
// events.

import Seeded
import VendorSupport

struct VendorEvents {
    private var random: Seeded
    private var shaped: RandomEvents
    private var mutator: Mutator

    init(seed: UInt64) {
        random = Seeded(state: seed)
        shaped = RandomEvents(seed: seed &+ 1)
        mutator = Mutator(seed: seed &+ 2, seeds: Mutator.events + [Array(VendorEvents.plain(1).utf8)])
    }

    /// An event that each vendor takes.
    static func plain(_ number: Int) -> String {
        """
        {"type":"track","event":"Order Completed","messageId":"id-of-\(number)","userId":"user-1234","anonymousId":"1234.5678",\
        "timestamp":"2026-11-21T05:49:23.123Z","properties":{"n":\(number),"level":"error","error_message":"card declined"}}
        """
    }

    mutating func batch() -> [[UInt8]] { (0..<1 + random.below(7)).map { _ in event() } }

    private mutating func event() -> [UInt8] {
        switch random.below(10) {
        case 0..<5: Array(shaped.event().utf8)
        case 5..<7: mutator.line()
        case 7: Array(VendorEvents.plain(random.below(1000)).utf8)
        default: Array(atLimit().utf8)
        }
    }

    // MARK: - Events at a limit

    /// The limits of the vendors for characters and members.
    private static let limits = [24, 25, 36, 40, 64, 100, 128, 200, 247, 254, 255, 256, 300, 420, 1000, 1024, 8192]
    /// The limits for the bytes of an event or of a body.
    private static let sizes = [32 << 10, 130_000, 900_000, 1_000_000, 1 << 20]
    private static let characters = ["x", "é", "\\u00e9", "🚗", "\\ud83d\\ude97", "\\ud83d", "\\n", "\\\"", "_", "9"]

    private mutating func atLimit() -> String {
        let length = random.pick(VendorEvents.limits) + random.below(3) - 1
        switch random.below(100) {
        case 0: return event(properties: "\"pad\":\"\(text(random.pick(VendorEvents.sizes) - random.below(600)))\"")
        case 1..<6: return event(properties: "\"deep\":\(nested(random.pick([2, 5, 7, 36, 38, 64, 100, 198, 1000])))")
        case 6..<30: return event(properties: (0..<min(length, 300)).map { "\"p\($0)\":\($0)" }.joined(separator: ","))
        case 30..<45: return event(properties: "\"\(text(length))\":1")
        case 45..<60: return event(properties: "\"\(random.pick(["a", "url", "level", "ip", "tags"]))\":\"\(text(length))\"")
        default:
            let member = random.pick(["event", "userId", "anonymousId", "messageId", "groupId", "previousId", "name"])
            return event(properties: "\"level\":\"error\"", others: "\"\(member)\":\"\(text(length))\"", without: member)
        }
    }

    private mutating func text(_ length: Int) -> String {
        let character = random.below(3) > 0 ? "x" : random.pick(VendorEvents.characters)
        return String(repeating: character, count: max(length, 0))
    }

    private mutating func nested(_ depth: Int) -> String {
        let (open, close) = random.pick([("[", "]"), ("{\"a\":", "}")])
        return String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
    }

    private mutating func event(properties: String, others: String = "", without: String = "") -> String {
        let type = random.pick(["track", "track", "identify", "group", "page", "screen", "alias", "log"])
        let members = [
            ("event", "\"Order Completed\""), ("messageId", "\"m-1\""), ("userId", "\"user-1234\""), ("anonymousId", "\"1234.5678\""),
            ("timestamp", "\"2026-11-21T05:49:23.123Z\""),
        ]
        let written = members.filter { $0.0 != without }.map { "\"\($0.0)\":\($0.1)" } + (others.isEmpty ? [] : [others])
        return "{\"type\":\"\(type)\",\(written.joined(separator: ",")),\"properties\":{\(properties)},\"traits\":{\(properties)}}"
    }
}
