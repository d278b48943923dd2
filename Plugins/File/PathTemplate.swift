// A path with time fields, such as var/events-%Y-%m-%d.ndjson. An event affects the path only through its arrival time.

internal import Glibc
internal import PluginKit

struct PathTemplate: Sendable {
    /// The fields that produce only digits in every locale, each with the shape of its digits. `-` is literal.
    private static let fields: [(letter: Character, shape: String)] = [
        ("Y", "0000"), ("y", "00"), ("m", "00"), ("d", "00"), ("j", "000"), ("H", "00"), ("M", "00"), ("S", "00"), ("G", "0000"),
        ("V", "00"),
        ("u", "0"), ("F", "0000-00-00"),
    ]

    private enum Part: Sendable {
        case text(String)
        case field(Character, shape: String)
    }

    private let parts: [Part]
    private let utc: Bool
    /// True if the path depends on the time.
    let hasFields: Bool

    init(_ path: String, utc: Bool) throws(SettingsFault) {
        guard !path.isEmpty else { throw SettingsFault("path is empty") }
        guard !path.utf8.contains(0) else { throw SettingsFault("path holds a zero byte") }
        guard path.utf8.last != UInt8(ascii: "/") else { throw SettingsFault("path ends in '/': it must name a file, not a folder") }
        var parts: [Part] = []
        var rest = Substring(path)
        while let percent = rest.firstIndex(of: "%") {
            if percent != rest.startIndex { parts.append(.text(String(rest[..<percent]))) }
            let after = rest[percent...].dropFirst()
            guard let letter = after.first else {
                throw SettingsFault("path ends in a single '%'; write %% for a percent sign")
            }
            if letter == "%" {
                parts.append(.text("%"))
            } else if let field = PathTemplate.fields.first(where: { $0.letter == letter }) {
                parts.append(.field(letter, shape: field.shape))
            } else {
                let known = PathTemplate.fields.map { "%\($0.letter)" }.joined(separator: " ")
                throw SettingsFault("path holds '%\(letter)', which is not one of \(known) and %%")
            }
            rest = after.dropFirst()
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
        self.utc = utc
        hasFields = parts.contains { if case .field = $0 { true } else { false } }
    }

    /// Returns the path for a time in seconds since 1970.
    func path(at seconds: Int64) -> String {
        guard hasFields else { return parts.reduce("") { text, part in if case .text(let more) = part { text + more } else { text } } }
        var time = time_t(seconds)
        var clock = tm()
        if utc { gmtime_r(&time, &clock) } else { localtime_r(&time, &clock) }
        return parts.reduce("") { path, part in
            switch part {
            case .text(let text): return path + text
            case .field(let letter, _):
                var buffer = [CChar](repeating: 0, count: 32)
                let length = strftime(&buffer, buffer.count, "%\(letter)", &clock)
                assert(length > 0 && length < buffer.count, "a field of the time does not fit into its buffer")
                return path + String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
            }
        }
    }

    /// A pattern for glob(3) that matches every path of the template.
    var glob: String {
        parts.reduce("") { pattern, part in
            switch part {
            case .text(let text): pattern + PathTemplate.literal(text)
            case .field(_, let shape): pattern + PathTemplate.pattern(shape)
            }
        }
    }

    /// Returns a glob pattern with a digit for every zero of the shape.
    static func pattern(_ shape: String) -> String { shape.map { $0 == "0" ? "[0-9]" : String($0) }.joined() }

    private static func literal(_ text: String) -> String {
        text.map { "*?[\\".contains($0) ? "\\\($0)" : String($0) }.joined()
    }
}
