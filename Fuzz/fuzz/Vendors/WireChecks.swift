// Reads the bodies for the vendors as their servers would: the envelope, the members that each event must have, and the limits that are
// documented. A server that drops or shortens what it has answered 200 to counts as one that refuses it.

import Dialects
import PluginKit

/// A value of a body, with the words for what is missing.
struct Wire {
    let value: EventValue
    let name: String

    init(_ value: EventValue, _ name: String) {
        self.value = value
        self.name = name
    }

    /// Parses a body as one JSON object.
    init(object body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) {
        if let fault = oracle.fault(inObject: body) { throw Wrong(fault) }
        self.init(EventValue(json: body), "the body")
    }

    subscript(key: String) -> Wire? { value[key].map { Wire($0, "\(name).\(key)") } }

    func require(_ key: String) throws(Wrong) -> Wire {
        guard let member = self[key] else { throw Wrong("\(name) has no \(key)") }
        return member
    }

    /// The objects of a list that is not empty and not too long.
    func objects(most: Int = .max) throws(Wrong) -> [Wire] {
        guard value.kind == .list else { throw Wrong("\(name) is no list") }
        let elements = value.elements.map { Wire($0, name + "[]") }
        guard (1...most).contains(elements.count) else { throw Wrong("\(name) has \(elements.count) elements") }
        guard elements.allSatisfy({ $0.value.kind == .object }) else { throw Wrong("\(name) has an element that is no object") }
        return elements
    }

    /// A text with a number of characters in this range.
    @discardableResult
    func text(_ characters: ClosedRange<Int> = 1...Int.max) throws(Wrong) -> String {
        guard let text = value.text else { throw Wrong("\(name) is no text") }
        guard characters.contains(text.unicodeScalars.count) else { throw Wrong("\(name) has \(text.unicodeScalars.count) characters") }
        return text
    }

    @discardableResult
    func integer() throws(Wrong) -> Int {
        guard let integer = value.integer else { throw Wrong("\(name) is no integer") }
        return integer
    }

    func object() throws(Wrong) {
        guard value.kind == .object else { throw Wrong("\(name) is no object") }
    }

    func bytes(most: Int) throws(Wrong) {
        guard value.json.count <= most else { throw Wrong("\(name) has \(value.json.count) bytes") }
    }
}

enum WireChecks {
    static func postHog(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        let body = try Wire(object: body, oracle)
        try body.bytes(most: 20 << 20)
        try body.require("api_key").text()
        let events = try body.require("batch").objects()
        for event in events {
            try event.bytes(most: 900_000)
            try event.require("event").text(1...200)
            try event.require("distinct_id").text(1...200)
            try event.require("timestamp").text()
            try event.require("properties").object()
            if let uuid = event["uuid"] { try uuid.text(36...36) }
        }
        return events.count
    }

    /// A list for /import, or one of changes of profiles, which count as no events.
    static func mixpanel(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        if let fault = oracle.fault(inList: body) { throw Wrong(fault) }
        let list = Wire(EventValue(json: body), "the body")
        try list.bytes(most: 10_000_000)
        let events = try list.objects(most: 2000)
        var count = 0
        for event in events {
            try event.bytes(most: 999_999)
            if let token = event["$token"] {
                try token.text()
                guard event["$distinct_id"] != nil || event["$group_id"] != nil else { throw Wrong("a profile has no id") }
                continue
            }
            count += 1
            try event.require("event").text(1...255)
            let properties = try event.require("properties")
            try properties.require("time").integer()
            try properties.require("distinct_id").text(0...255)
            let id = try properties.require("$insert_id").text(1...36)
            guard id.utf8.allSatisfy({ isWord($0) || $0 == UInt8(ascii: "-") }) else { throw Wrong("$insert_id has other characters") }
        }
        return count
    }

    /// An event of a group is two wire events, and the second one has an insert_id of its own.
    static func amplitude(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        let body = try Wire(object: body, oracle)
        try body.bytes(most: 999_999)
        try body.require("api_key").text()
        let events = try body.require("events").objects(most: 1999)
        var count = 0
        for event in events {
            try event.require("event_type").text(1...1024)
            try event.require("insert_id").text()
            try event.require("time").integer()
            if let user = event["user_id"] { try user.text(5...128) }
            if let device = event["device_id"] { try device.text(5...128) }
            guard event["user_id"] != nil || event["device_id"] != nil else { throw Wrong("an event has neither user_id nor device_id") }
            if event["group_properties"] == nil { count += 1 }
        }
        return count
    }

    static func ga4(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        let body = try Wire(object: body, oracle)
        try body.bytes(most: 129_999)
        try body.require("client_id").text()
        if let user = body["user_id"] { try user.text(1...256) }
        let events = try body.require("events").objects(most: 25)
        for event in events {
            try isGoogles(event.require("name").text(1...40))
            let age = FuzzedVendor.now / 1000 - Int64(try event.require("timestamp_micros").integer())
            guard (0...72 * 3_600_000_000).contains(age) else { throw Wrong("an event has an age of \(age) microseconds") }
            let parameters = try event.require("params")
            var names: Set<String> = []
            for (key, value) in parameters.value.members {
                let (key, value) = (Wire(key, "the name of a parameter"), Wire(value, "a parameter"))
                try isGoogles(key.text(1...40))
                guard names.insert(try key.text()).inserted else { throw Wrong("a parameter comes twice") }
                switch value.value.kind {
                case .object: throw Wrong("a parameter is an object")
                case .list: guard try key.text() == "items" else { throw Wrong("a parameter is a list") }
                case .text: try value.text(0...longest(try key.text()))
                default: break
                }
            }
            guard names.count <= 25 else { throw Wrong("an event has \(names.count) parameters") }
        }
        if let properties = body["user_properties"] {
            for (name, property) in properties.value.members {
                try isGoogles(Wire(name, "the name of a user property").text(1...24))
                let value = try Wire(property, "a user property").require("value")
                if value.value.kind == .text { try value.text(0...36) }
            }
        }
        return events.count
    }

    private static func longest(_ name: String) -> Int {
        switch name {
        case "page_location": 1000
        case "page_referrer": 420
        case "page_title": 300
        default: 100
        }
    }

    private static func isGoogles(_ name: String) throws(Wrong) {
        let (isLetter, isPlain) = (name.utf8.first.map { ($0 | 0x20) &- 0x61 < 26 } ?? false, name.utf8.allSatisfy(isWord))
        guard isLetter, isPlain else { throw Wrong("Google takes no name such as \(name)") }
        let isReserved = ["ga_", "google_", "firebase_"].contains { name.lowercased().hasPrefix($0) }
        guard !isReserved, name != "session_start", name != "first_visit" else { throw Wrong("Google reserves the name \(name)") }
    }

    /// True for letters, digits and underscores of ASCII.
    private static func isWord(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: "_")
    }

    static func segment(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        try batch(body, oracle, most: 500_000, deepest: .max)
    }

    static func rudderStack(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        try batch(body, oracle, most: 4_000_000, deepest: 200)
    }

    private static let types: Set = ["track", "identify", "alias", "group", "page", "screen"]

    private static func batch(_ bytes: UnsafeRawBufferPointer, _ oracle: ObjectOracle, most: Int, deepest: Int) throws(Wrong) -> Int {
        let body = try Wire(object: bytes, oracle)
        try body.bytes(most: most)
        guard depth(bytes) <= deepest else { throw Wrong("the body nests deeper than \(deepest)") }
        let events = try body.require("batch").objects(most: 2500)
        for event in events {
            try event.bytes(most: 32 << 10)
            let type = try event.require("type").text()
            guard types.contains(type) else { throw Wrong("the API has no type such as \(type)") }
            guard event["userId"]?.value.text ?? "" != "" || event["anonymousId"]?.value.text ?? "" != "" else {
                throw Wrong("an event has neither userId nor anonymousId")
            }
            if type == "track" { try event.require("event").text() }
            if type == "group" { try event.require("groupId").text() }
            if type == "alias" { try event.require("previousId").text() }
            if let id = event["messageId"], !id.value.isNull { try id.text(0...100) }
            try event.require("timestamp").text()
        }
        return events.count
    }

    private static func depth(_ body: UnsafeRawBufferPointer) -> Int {
        var (depth, most, isText, isEscape) = (0, 0, false, false)
        for byte in body {
            if isEscape {
                isEscape = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\\"): isEscape = isText
            case UInt8(ascii: "\""): isText.toggle()
            case UInt8(ascii: "{"), UInt8(ascii: "["): if !isText { depth += 1 }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): if !isText { depth -= 1 }
            default: break
            }
            most = max(most, depth)
        }
        return most
    }

    static func sentry(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        let lines = body.split(separator: 0x0a, omittingEmptySubsequences: false).map { UnsafeRawBufferPointer(rebasing: $0) }
        guard lines.count == 4, lines[3].isEmpty else { throw Wrong("an envelope has \(lines.count - 1) lines") }
        let (head, item) = (try Wire(object: lines[0], oracle), try Wire(object: lines[1], oracle))
        let event = try Wire(object: lines[2], oracle)
        guard try item.require("length").integer() == lines[2].count else { throw Wrong("the length of the item is wrong") }
        guard try item.require("type").text() == "event" else { throw Wrong("the item is no event") }
        try event.bytes(most: 1 << 20)
        if let id = event["event_id"] {
            let text = try id.text(32...32)
            guard head["event_id"]?.value.text == text else { throw Wrong("the envelope has another event_id") }
            let isHex = text.utf8.allSatisfy { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 6 }
            guard isHex else { throw Wrong("event_id is not hexadecimal") }
        }
        try event.require("timestamp").text()
        guard event["exception"] != nil || event["logentry"] != nil else { throw Wrong("the event has no exception and no message") }
        return 1
    }

    /// Our own listener reads what our module writes: it makes one line of each record, and finds no fault.
    static func otlp(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle, _ dialect: any Dialect) throws(Wrong) -> Int {
        var translator = Translator(limits: TranslationLimits(events: 1000, line: 64 << 20, output: 512 << 20, depth: 100_000))
        var translation = Translation()
        translator.translate(body, from: dialect, RequestContext(time: FuzzedVendor.now, ip: nil), into: &translation)
        if let refusal = translation.refusal { throw Wrong("the body is refused: \(refusal.message) at \(refusal.offset)") }
        if let fault = translation.faults.first { throw Wrong("a record is refused: \(fault.message) at \(fault.offset)") }
        return translation.lineCount
    }

    static func otlpJSON(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        _ = try Wire(object: body, oracle)
        return try otlp(body, oracle, OTLPLogs(.json))
    }

    static func otlpProtobuf(_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int {
        try otlp(body, oracle, OTLPLogs(.protobuf))
    }
}
