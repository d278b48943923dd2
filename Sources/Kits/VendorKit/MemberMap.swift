// A table of members and the names that a vendor has for them, such as context.os.name and $os. It is also the source of the rows of the
// mapping that the module describes.

public import PluginKit

/// The table as a vendor writes it: from the path of a member to the name at the vendor. If two members have the same name there, the first
/// one that is present is written, and the others are left to `rest`.
public typealias MemberTable = KeyValuePairs<StaticString, StaticString>

/// A table whose members the reader notes.
public struct MemberMap: Sendable {
    struct Row: Sendable {
        let member: Member
        let name: StaticString
        /// The vendor's own name in the object into which the member goes. If the event has it, the event's own value stays.
        let own: Member?
        /// The number of the first row with the same name.
        let first: Int
    }
    let rows: [Row]
}

extension WireEvents {
    /// Writes every member of the table that is present into the object that is open, as it is written in the event. A value that `isFit`
    /// does not take counts as absent.
    public mutating func members(_ map: MemberMap, of event: CanonicalEvent, where isFit: (Value) -> Bool = { _ in true }) {
        var last = -1
        for row in map.rows where row.first != last {
            guard let value = event[row.member], !isTaken(value.slot), isFit(value), row.own.flatMap({ event[$0] }) == nil else { continue }
            member(row.name, value)
            last = row.first
        }
    }

    /// Writes every member of the table that is a text and not empty.
    public mutating func texts(_ map: MemberMap, of event: CanonicalEvent) {
        members(map, of: event) { $0.isText && $0.isIdentity }
    }
}

extension KeyValuePairs where Key == StaticString, Value == StaticString {
    /// The rows of the mapping for the members of the table. `base` is where their paths begin, and `place` the object into which they go,
    /// each with a dot behind it.
    public func rows(at base: String = "", in place: String = "") -> [MappingRow] { map { MappingRow("\(base)\($0)", "\(place)\($1)") } }
}
