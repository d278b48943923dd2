// The template of a name in a log, such as the subject "events.{type}.{event}" of NATS. It promises that a value of an event adds only
// letters, digits, '-' and '_' to the name: never a dot, a wildcard, a space or a control character. So an event cannot choose another
// part of the name, and cannot make the name invalid.

package import Events
package import PluginKit

package struct NameTemplate: Sendable {
    /// The most bytes that a value adds to the name. The rest is cut.
    package static let mostOfValue = 100
    /// The most members of a template.
    package static let mostMembers = 8

    private enum Part: Sendable {
        case text([UInt8])
        case member(Int)
    }

    private let parts: [Part]
    /// True if every event has the same name.
    package let isConstant: Bool
    /// The name with this text in the place of each value.
    package func text(with placeholder: String) -> String {
        String(
            decoding: parts.flatMap { part -> [UInt8] in
                switch part {
                case .text(let bytes): bytes
                case .member: Array(placeholder.utf8)
                }
            }, as: UTF8.self)
    }

    /// Parses a template. Its members are added to `members`. `setting` is the name of the setting, for the text of a fault.
    package init(_ text: String, setting: String, members: inout MemberList) throws(SettingsFault) {
        var parts: [Part] = []
        var rest = Substring(text)
        var count = 0
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}") else {
                throw SettingsFault("\(setting) holds a single '\(rest[open])'; a member is written as {type} or {properties.plan}")
            }
            if open != rest.startIndex { parts.append(.text(Array(rest[..<open].utf8))) }
            let inside = String(rest[rest.index(after: open)..<close])
            do throws(PathFault) {
                parts.append(.member(members.add(try Path(parsing: inside))))
            } catch {
                throw SettingsFault("\(setting): {\(printable(inside))} names no member: \(error.message)")
            }
            count += 1
            rest = rest[rest.index(after: close)...]
        }
        guard count <= NameTemplate.mostMembers else {
            throw SettingsFault("\(setting) has \(count) members, at most \(NameTemplate.mostMembers) are allowed")
        }
        if !rest.isEmpty { parts.append(.text(Array(rest.utf8))) }
        self.parts = parts
        isConstant = count == 0
    }

    /// Appends the name of an event. A member that the event does not have, and one that is an object, a list, null or an empty text,
    /// becomes '_'.
    package func append(_ event: ReadEvent, to name: inout ByteBuffer) {
        for part in parts {
            switch part {
            case .text(let bytes): bytes.withUnsafeBytes { name.append(contentsOf: $0) }
            case .member(let member):
                let start = name.count
                _ = event.append(member, to: &name)
                NameTemplate.clean(&name, from: start)
            }
        }
    }

    /// Replaces each other character of the value by '_', and cuts the value.
    private static func clean(_ name: inout ByteBuffer, from start: Int) {
        var end = start
        var at = start
        while at < name.count, end - start < mostOfValue {
            let byte = name.base[at]
            at += 1
            // The other bytes of a character in UTF-8 add nothing.
            if byte & 0xc0 == 0x80 { continue }
            name.base[end] = isAllowed(byte) ? byte : UInt8(ascii: "_")
            end += 1
        }
        name.truncate(to: end)
        if end == start { name.append(UInt8(ascii: "_")) }
        assert(name.count - start <= mostOfValue, "a value adds more to a name than it may")
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
