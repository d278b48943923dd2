// A case for each row of what the vendors refuse and cut.

import PluginKit
import VendorKit

extension LimitCase {
    static let all: [String: [LimitCase]] = [
        "amplitude": amplitude, "braze": braze, "ga4": ga4, "mixpanel": mixpanel, "otlp": otlp, "posthog": posthog,
        "rudderstack": rudderstack,
        "segment": segment, "sentry": sentry,
    ]

    private static let posthog: [LimitCase] = [
        longNames(.longNames(200)), longIDs(.longIDs(200)), placeholderIDs, noPerson, trackWithoutName, groupWithoutID,
        aliasWithoutPreviousID, size(.size(900_000)), unmapped,
    ]

    private static let amplitude: [LimitCase] = [
        longNames(.longNames(1024)), longIDs(.longIDs(128)), placeholderIDs, noPerson, noMessageID, trackWithoutName, groupWithoutID,
        LimitCase(
            LimitRow(.id, "ids of less than 5 characters (min_id_length)"), because: "less than 5", lifted: #""min_id_length":4"#,
            over: event(["userId": "1234"]), under: event(["userId": "12345"])),
        kind(.alias, "alias", because: "alias"), depth(.depth(38), because: "38 objects"), size(.body(999_999)), unmapped,
        LimitCase(
            LimitRow(.valueLength, most: 1024, "texts of more than 1024 characters, which Amplitude cuts (unless long_texts is refuse)"),
            because: "1024", over: { properties("\"a\":\(text($0 + 1))") }, under: { properties("\"a\":\(text($0))") }),
    ]

    private static let braze: [LimitCase] = [
        noPerson, longIDs(.longIDs(997)), trackWithoutName, longNames(.longNames(255)), kind(.alias, "alias", because: "alias"),
        kind(.group, "group", because: "groups"),
        LimitCase(
            LimitRow(.id, "identify without traits, and without both a userId and an anonymousId"), because: "makes nothing",
            over: event(["type": "\"identify\"", "anonymousId": nil]), under: event(["type": "\"identify\""])),
        LimitCase(
            LimitRow(.propertyName, most: 255, "names of properties of more than 255 characters"), because: "name of more than 255",
            over: { properties("\(text($0 + 1)):1") }, under: { properties("\(text($0)):1") }),
        LimitCase(
            LimitRow(.reservedName, "names of properties that begin with a dollar sign"), because: "dollar",
            over: properties("\"$a\":1"), under: properties("\"a$\":1")),
        LimitCase(
            LimitRow(.valueLength, most: 255, "texts in properties of more than 255 characters"), because: "more than 255",
            over: { properties("\"a\":\(text($0 + 1))") }, under: { properties("\"a\":\(text($0))") }),
        // The properties are the outermost of them.
        LimitCase(
            LimitRow(.depth, most: 32, "properties and traits of more than 32 objects and lists in one another"), because: "32 objects",
            over: { properties("\"a\":\(lists($0))") }, under: { properties("\"a\":\(lists($0 - 1))") }),
        // A member has 207 bytes at least.
        LimitCase(
            LimitRow(.size, most: 51_200, "properties of more than 51200 bytes"), because: "51200 bytes",
            over: { properties(numbered($0 / 200, value: text(200))) }, under: { properties(numbered($0 / 220, value: text(200))) }),
        unmapped,
    ]

    private static let mixpanel: [LimitCase] = [
        longNames(.longNames(255)), longIDs(.longIDs(247)), placeholderIDs, noMessageID, trackWithoutName, groupWithoutID,
        LimitCase(
            LimitRow(.id, "identify without userId and anonymousId"), because: "neither userId nor anonymousId",
            over: event(["type": "\"identify\"", "userId": nil, "anonymousId": nil]),
            under: event(["type": "\"identify\"", "userId": nil])),
        kind(LimitRow(.kind, "alias (unless identity is original)"), "alias", because: "no aliases", lifted: #""identity":"original""#),
        LimitCase(
            LimitRow(.propertyCount, most: 254, "objects and lists with more than 254 members"), because: "254 members",
            over: { properties(numbered($0 + 1)) }, under: { properties(numbered($0)) }),
        LimitCase(
            LimitRow(.depth, most: 3, "more than three objects in one another, in properties or traits"), because: "three objects",
            over: { properties("\"a\":\(objects($0 + 1))") }, under: { properties("\"a\":\(objects($0))") }),
        size(.size(999_999)), unmapped,
        LimitCase(
            LimitRow(.valueLength, most: 255, "texts of more than 255 characters, which Mixpanel cuts (unless long_texts is refuse)"),
            because: "255", over: { properties("\"a\":\(text($0 + 1))") }, under: { properties("\"a\":\(text($0))") }),
    ]

    private static let segmentAPI: [LimitCase] = [
        noPerson, trackWithoutName, groupWithoutID, aliasWithoutPreviousID, size(.size(32 << 10)),
        LimitCase(
            LimitRow(.kind, "alias without userId"), because: "no userId",
            over: event(["type": "\"alias\"", "previousId": "7", "userId": nil]), under: event(["type": "\"alias\"", "previousId": "7"])),
        LimitCase(
            LimitRow(.other, most: 100, "a messageId of more than 100 characters"), because: "messageId has more than 100",
            over: { event(["messageId": text($0 + 1)]) }, under: { event(["messageId": text($0)]) }),
        LimitCase(
            LimitRow(
                .other, "properties, traits, context and integrations that are no objects, and ids that are neither texts nor numbers"),
            because: "is no object", over: event(["properties": "[1]"]), under: event(["properties": "null"])),
        LimitCase(
            LimitRow(.other, "context with the member switchyard_unmapped, if the provider writes it"), because: "switchyard_unmapped",
            over: event(["type": "\"log\"", "context": #"{"switchyard_unmapped":{}}"#]),
            under: event(["context": #"{"switchyard_unmapped":{}}"#])),
    ]
    private static let segment = segmentAPI
    private static let rudderstack = segmentAPI + [depth(.depth(198), because: "nests deeper than 198")]

    private static let sentry: [LimitCase] = [
        kind(.identify, "identify", because: "only track"), kind(.alias, "alias", because: "only track"),
        kind(.group, "group", because: "only track"), kind(.page, "page", because: "only track"),
        kind(.screen, "screen", because: "only track"),
        LimitCase(
            LimitRow(.kind, "track that tells of no error (unless take is all)"), because: "tells of no error", lifted: #""take":"all""#,
            over: properties(#""level":"warning""#), under: properties(#""level":"fatal""#)),
        LimitCase(
            LimitRow(.kind, "track without an exception, a message and a name"), because: "no exception, no message and no name",
            over: event(["event": nil]), under: event(["event": nil, "properties": #"{"level":"error","message":"m"}"#])),
        size(.size(1 << 20)), unmapped,
        LimitCase(
            LimitRow(.valueLength, most: 8192, "messages of more than 8192 characters, which Sentry shortens"), because: "8192",
            over: { properties("\"error\":\(text($0 + 1))") }, under: { properties("\"error\":\(text($0))") }),
        LimitCase(
            LimitRow(.depth, most: 7, "properties of more than 7 levels, which Sentry shortens"), because: "7 levels",
            over: { properties("\"level\":\"error\",\"a\":\(lists($0))") },
            under: { properties("\"level\":\"error\",\"a\":\(lists($0 - 1))") }),
        size(LimitRow(.size, most: 256 << 10, "properties of more than 262144 bytes, which Sentry shortens")),
    ]

    private static let otlp: [LimitCase] = [
        size(.body(20 << 20)), unmapped,
        LimitCase(
            LimitRow(.depth, most: 30, "more than 30 objects and lists in one another, which become the text of their JSON"),
            because: "30 objects", over: { properties("\"a\":\(lists($0 + 1))") }, under: { properties("\"a\":\(lists($0))") }),
    ]

    private static let ga4: [LimitCase] = names + parameters + others

    private static func traits(_ members: String) -> String { event(["type": "\"identify\"", "traits": "{\(members)}"]) }
    private static func items(_ count: Int, _ members: String) -> String {
        properties("\"items\":[\((0..<count).map { _ in "{\(members)}" }.joined(separator: ","))]")
    }

    private static let names: [LimitCase] = [
        longNames(.longNames(40)),
        LimitCase(
            LimitRow(.other, "names of events that are not ASCII, or do not begin with a letter"), because: "not ASCII",
            over: event(["event": "\"é\""]), under: event(["event": "\"e\""])),
        LimitCase(
            LimitRow(.reservedName, "names of events that Google reserves, such as session_start, error or user_engagement"),
            because: "reserves", over: event(["event": "\"session_start\""]), under: event(["event": "\"session_starts\""])),
        LimitCase(
            LimitRow(.reservedName, "names of parameters and user properties that Google reserves, such as ga_session_id and user_id"),
            because: "reserves", over: properties("\"ga_session_id\":1"), under: properties("\"gas\":1")),
        LimitCase(
            LimitRow(.propertyName, most: 40, "names of parameters of more than 40 characters"), because: "40 characters",
            over: { properties("\(text($0 + 1)):1") }, under: { properties("\(text($0)):1") }),
        LimitCase(
            LimitRow(.propertyName, most: 24, "names of user properties of more than 24 characters"), because: "24 characters",
            over: { traits("\(text($0 + 1)):1") }, under: { traits("\(text($0)):1") }),
        LimitCase(
            LimitRow(.propertyName, "names of parameters that are not ASCII, do not begin with a letter, or come twice"),
            because: "begin with a letter", over: properties("\"1a\":1"), under: properties("\"a1\":1")),
    ]

    private static let parameters: [LimitCase] = [
        LimitCase(
            LimitRow(.propertyCount, most: 25, "more than 25 parameters (100 with analytics_360)"), because: "one more than the 25",
            lifted: #""analytics_360":true"#, over: { properties(numbered($0 + 1)) }, under: { properties(numbered($0)) }),
        LimitCase(
            LimitRow(.propertyCount, most: 25, "more than 25 user properties"), because: "a user property is one more than the 25",
            over: { traits(numbered($0 + 1)) }, under: { traits(numbered($0)) }),
        LimitCase(
            LimitRow(.valueLength, most: 100, "values of more than 100 characters (unless long_values is cut; 500 with analytics_360)"),
            because: "100 characters", lifted: #""analytics_360":true"#, over: { properties("\"a\":\(text($0 + 1))") },
            under: { properties("\"a\":\(text($0))") }),
        LimitCase(
            LimitRow(.valueLength, most: 36, "values of user properties of more than 36 characters (unless long_values is cut)"),
            because: "36 characters", lifted: #""long_values":"cut""#, over: { traits("\"a\":\(text($0 + 1))") },
            under: { traits("\"a\":\(text($0))") }),
        LimitCase(
            LimitRow(.valueLength, most: 100, "values of more than 100 characters, 36 of a user property, if long_values is cut"),
            because: "which is cut", settings: #""long_values":"cut""#, over: { properties("\"a\":\(text($0 + 1))") },
            under: { properties("\"a\":\(text($0))") }),
        LimitCase(
            LimitRow(.depth, most: 1, "lists of lists or objects; objects become parameters with joined names"), because: "is a list that",
            over: properties("\"a\":[[1]]"), under: properties("\"a\":[1]")),
        LimitCase(
            LimitRow(.other, most: 200, "more than 200 items"), because: "200 items", over: { items($0 + 1, "\"item_id\":\"a\"") },
            under: { items($0, "\"item_id\":\"a\"") }),
        LimitCase(
            LimitRow(.other, most: 10, "more than 10 parameters of one's own in an item"), because: "one more than the 10",
            over: { items(1, numbered($0 + 1)) }, under: { items(1, numbered($0)) }),
        // An item has 974 bytes.
        LimitCase(
            .body(129_999), because: "bytes", over: { items($0 / 900, numbered(9, value: text(100))) },
            under: { items($0 / 1000, numbered(9, value: text(100))) }),
    ]

    private static let others: [LimitCase] = [
        // The time of the delivery is 2026-11-21T05:49:24Z.
        LimitCase(
            LimitRow(.age, most: 72 * 3600, "events that are older than 72 hours when they are delivered"), because: "72 hours",
            over: event(["timestamp": "\"2026-11-18T05:49:23Z\""]), under: event(["timestamp": "\"2026-11-18T05:49:24Z\""])),
        kind(.alias, "alias", because: "alias"), trackWithoutName, groupWithoutID,
        kind(LimitRow(.kind, "screen in a web stream"), "screen", because: "streams of apps", under: event(["type": "\"page\""])),
        LimitCase(
            LimitRow(.id, "events without an id of the client"), because: "no client_id", over: event(["userId": nil, "anonymousId": nil]),
            under: event(["anonymousId": nil])),
        LimitCase(
            LimitRow(.id, most: 256, "a userId of more than 256 characters"), because: "256 characters",
            over: { event(["userId": text($0 + 1)]) }, under: { event(["userId": text($0)]) }),
        LimitCase(
            LimitRow(.other, "signals of context.consent.google that are neither granted nor denied"),
            because: "neither granted nor denied",
            over: event(["context": #"{"consent":{"google":{"ad_user_data":"maybe"}}}"#]),
            under: event(["context": #"{"consent":{"google":{"ad_user_data":"granted"}}}"#])),
        LimitCase(
            LimitRow(.other, "properties and traits that are no objects"), because: "no object", over: event(["properties": "[1]"]),
            under: event(["properties": "[]"])),
    ]
}
