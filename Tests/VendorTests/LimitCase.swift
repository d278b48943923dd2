// What tries a row of a vendor's limits: an event that is just over the limit, and one that is just under it.

import PluginKit
import VendorKit

struct LimitCase: Sendable {
    let row: LimitRow
    /// Makes an event by the number of the row, or 0 if it has none.
    let over: @Sendable (Int) -> String
    let under: @Sendable (Int) -> String
    /// A part of the reason of the refusal, or of the loss.
    let because: String
    /// Settings with which both are tried.
    var settings = ""
    /// Settings under which the event that is over the limit is taken.
    var lifted: String?

    init(
        _ row: LimitRow, because: String, settings: String = "", lifted: String? = nil, over: @escaping @Sendable (Int) -> String,
        under: @escaping @Sendable (Int) -> String
    ) {
        (self.row, self.because, self.settings, self.lifted) = (row, because, settings, lifted)
        (self.over, self.under) = (over, under)
    }

    init(
        _ row: LimitRow, because: String, settings: String = "", lifted: String? = nil, over: String, under: String
    ) {
        self.init(row, because: because, settings: settings, lifted: lifted, over: { _ in over }, under: { _ in under })
    }

    /// An event that every vendor takes, with some members replaced, added, or removed if they are nil.
    static func event(_ changes: KeyValuePairs<String, String?> = [:]) -> String {
        var members: [(String, String?)] = [
            ("type", "\"track\""), ("event", "\"A\""), ("messageId", "\"m-1\""), ("userId", "\"user-1\""), ("anonymousId", "\"1234.5678\""),
            ("timestamp", "\"2199-01-01T00:00:00Z\""), ("properties", #"{"level":"error"}"#),
        ]
        for (key, value) in changes {
            if let place = members.firstIndex(where: { $0.0 == key }) { members[place].1 = value } else { members.append((key, value)) }
        }
        return "{" + members.compactMap { key, value in value.map { "\"\(key)\":\($0)" } }.joined(separator: ",") + "}"
    }

    static func properties(_ members: String) -> String { event(["properties": "{\(members)}"]) }

    // MARK: - Values

    static func text(_ count: Int) -> String { "\"\(String(repeating: "x", count: count))\"" }
    /// So many lists in one another.
    static func lists(_ count: Int) -> String { String(repeating: "[", count: count) + String(repeating: "]", count: count) }
    static func objects(_ count: Int) -> String {
        String(repeating: "{\"a\":", count: count - 1) + "{}" + String(repeating: "}", count: count - 1)
    }
    static func numbered(_ count: Int, value: String = "1") -> String {
        (0..<count).map { "\"p\($0)\":\(value)" }.joined(separator: ",")
    }

    // MARK: - Limits of several vendors

    static func longNames(_ row: LimitRow) -> LimitCase {
        LimitCase(row, because: "\(row.most!) characters", over: { event(["event": text($0 + 1)]) }, under: { event(["event": text($0)]) })
    }
    static func longIDs(_ row: LimitRow) -> LimitCase {
        LimitCase(
            row, because: "\(row.most!) characters", over: { event(["userId": text($0 + 1)]) }, under: { event(["userId": text($0)]) })
    }
    /// What stands around the text takes less than 2,000 bytes.
    static func size(_ row: LimitRow, because: String = "bytes") -> LimitCase {
        LimitCase(
            row, because: because, over: { properties("\"level\":\"error\",\"a\":\(text($0))") },
            under: { properties("\"level\":\"error\",\"a\":\(text($0 - 2000))") })
    }
    /// The event and its properties are the two outer objects.
    static func depth(_ row: LimitRow, because: String) -> LimitCase {
        LimitCase(
            row, because: because, over: { properties("\"a\":\(lists($0 - 1))") }, under: { properties("\"a\":\(lists($0 - 2))") })
    }

    static let placeholderIDs = LimitCase(
        .placeholderIDs, because: "such as null or anonymous", over: event(["userId": "\"Undefined\""]),
        under: event(["userId": "\"undefine\""]))
    static let noPerson = LimitCase(
        .noPerson, because: "neither userId nor anonymousId", over: event(["userId": nil, "anonymousId": nil]),
        under: event(["userId": nil]))
    static let noMessageID = LimitCase(
        .noMessageID, because: "no messageId", over: event(["messageId": nil]), under: event(["messageId": "7"]))
    static let trackWithoutName = LimitCase(.trackWithoutName, because: "no name", over: event(["event": nil]), under: event())
    static let groupWithoutID = LimitCase(
        .groupWithoutID, because: "no groupId", over: event(["type": "\"group\""]), under: event(["type": "\"group\"", "groupId": "7"]))
    static let aliasWithoutPreviousID = LimitCase(
        .aliasWithoutPreviousID, because: "no previousId", over: event(["type": "\"alias\""]),
        under: event(["type": "\"alias\"", "previousId": "\"before\""]))
    static let unmapped = LimitCase(
        .unmapped, because: "switchyard_unmapped", over: properties("\"level\":\"error\",\"switchyard_unmapped\":1"),
        under: properties("\"level\":\"error\",\"unmapped\":1"))
    static func kind(_ row: LimitRow, _ type: String, because: String, under: String = event(), lifted: String? = nil) -> LimitCase {
        LimitCase(row, because: because, lifted: lifted, over: event(["type": "\"\(type)\"", "previousId": "\"before\""]), under: under)
    }
}
