// `geo`: reduces an object to some of its members. A value that is not an object is dropped, because it could contain too much detail.

internal import Events
internal import Redaction

final class PickChange: Changing {
    private let names: [String]
    /// The slots of the members that are kept, by the slot of their field.
    private var slots: [Int: [Int]] = [:]

    init(_ names: [String]) { self.names = Array(Set(names)) }

    func prepare(_ paths: PathTrie, _ fields: [MemberPath]) {
        for field in fields {
            let keys = paths.path(of: field.slot).keys
            slots[field.slot] = names.map { paths.slot(of: Path(keys: keys + [$0]))! }
        }
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.isObject else { return .drop }
        let kept = (slots[slot] ?? []).map { event.slots[$0] }.filter(\.isPresent).sorted { $0.start < $1.start }
        out.put(UInt8(ascii: "{"))
        for (index, member) in kept.enumerated() {
            if index > 0 { out.put(UInt8(ascii: ",")) }
            out.put(event.block + Int(member.key), Int(member.end - member.key))
        }
        out.put(UInt8(ascii: "}"))
        return .put
    }
}
