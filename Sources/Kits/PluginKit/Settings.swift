// The settings of one instance, from routes.json and checked by the host, read by type. It is not for events: use `EventValue`, which
// accepts everything that an event may contain.

internal import CJansson
internal import Glibc

/// An object of settings. Sizes are in bytes, and durations are in milliseconds.
public struct Settings: Sendable {
    public indirect enum Value: Sendable {
        case null
        case flag(Bool)
        case integer(Int)
        case number(Double)
        case text(String)
        case list([Value])
        case object(Settings)
    }

    private let members: [(name: String, value: Value)]

    /// Parses a JSON object. The host passes one, and so does a test of an adapter.
    public init(json: String) throws(SettingsFault) {
        self = try Array(json.utf8).withUnsafeBufferPointer { (text) throws(SettingsFault) in
            try Settings(json: UnsafeRawBufferPointer(text))
        }
    }

    init(json: UnsafeRawBufferPointer) throws(SettingsFault) {
        // Jansson ignores a NUL byte after a number.
        guard !json.contains(0) else { throw SettingsFault("the settings are not a JSON object: they contain a NUL byte") }
        var error = json_error_t()
        guard let root = json_loadb(json.baseAddress, json.count, size_t(JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES), &error) else {
            let text = withUnsafeBytes(of: error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw SettingsFault("the settings are not a JSON object: \(text)")
        }
        defer { json_decref(root) }
        guard case .object(let settings) = Settings.value(root) else { throw SettingsFault("the settings are not a JSON object") }
        self = settings
    }

    private init(members: [(name: String, value: Value)]) { self.members = members }

    private static func value(_ json: UnsafeMutablePointer<json_t>) -> Value {
        switch json.pointee.type {
        case JSON_OBJECT:
            var members: [(name: String, value: Value)] = []
            var iterator = json_object_iter(json)
            while let position = iterator {
                members.append((String(cString: json_object_iter_key(position)), value(json_object_iter_value(position))))
                iterator = json_object_iter_next(json, position)
            }
            return .object(Settings(members: members))
        case JSON_ARRAY: return .list((0..<json_array_size(json)).map { value(json_array_get(json, $0)) })
        case JSON_STRING:
            let bytes = UnsafeRawBufferPointer(start: json_string_value(json), count: json_string_length(json))
            return .text(String(decoding: bytes, as: UTF8.self))
        case JSON_INTEGER: return .integer(Int(json_integer_value(json)))
        case JSON_REAL: return .number(json_real_value(json))
        case JSON_TRUE: return .flag(true)
        case JSON_FALSE: return .flag(false)
        default: return .null
        }
    }

    /// The names of the members, in the order of the text. It serves objects with free member names.
    public var names: [String] { members.map(\.name) }

    /// Returns the setting, or nil if it is absent or has another type: `settings.get("keep") ?? 7`.
    public func get<T: SettingValue>(_ name: String, as type: T.Type = T.self) -> T? {
        members.first { $0.name == name }.flatMap { T(setting: $0.value) }
    }

    /// Returns a setting that the description marks as required or gives a default. Throws if it is absent or has another type.
    public func require<T: SettingValue>(_ name: String, as type: T.Type = T.self) throws(SettingsFault) -> T {
        guard let value = get(name, as: type) else { throw SettingsFault("'\(name)' is missing, or not what the description says") }
        return value
    }
}

/// A type as which a setting can be read. An enum with text values conforms without further code.
public protocol SettingValue {
    init?(setting: Settings.Value)
}

extension String: SettingValue {
    public init?(setting: Settings.Value) {
        guard case .text(let text) = setting else { return nil }
        self = text
    }
}

extension Int: SettingValue {
    public init?(setting: Settings.Value) {
        guard case .integer(let number) = setting else { return nil }
        self = number
    }
}

extension Double: SettingValue {
    public init?(setting: Settings.Value) {
        switch setting {
        case .number(let number): self = number
        case .integer(let number): self = Double(number)
        default: return nil
        }
    }
}

extension Bool: SettingValue {
    public init?(setting: Settings.Value) {
        guard case .flag(let flag) = setting else { return nil }
        self = flag
    }
}

extension Settings: SettingValue {
    public init?(setting: Settings.Value) {
        guard case .object(let settings) = setting else { return nil }
        self = settings
    }
}

extension Array: SettingValue where Element: SettingValue {
    public init?(setting: Settings.Value) {
        guard case .list(let values) = setting else { return nil }
        let elements = values.compactMap(Element.init(setting:))
        guard elements.count == values.count else { return nil }
        self = elements
    }
}

extension SettingValue where Self: RawRepresentable, RawValue == String {
    public init?(setting: Settings.Value) {
        guard case .text(let text) = setting else { return nil }
        self.init(rawValue: text)
    }
}
