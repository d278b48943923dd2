// Decides which lines of a file are events of the subjects of an erasure. An event belongs to a subject if a member at the subject's path
// holds the id, as a string or as a number. If a key occurs twice, each of its values counts. Ids and keys are compared byte by byte.

internal import CPlatform
internal import Events
internal import PluginKit

final class SubjectFilter {
    enum Verdict: Equatable {
        case stays
        case goes
        /// The line is not an event, but it could hold an id of these subjects.
        case unreadable(Set<Int>)
    }

    /// The subjects with one path.
    private struct Group {
        var keys: [[UInt8]]
        var ids: Set<[UInt8]>
    }

    /// The number of readable bytes after a line that `judge` needs. The first of them is the line's newline.
    static let padding = 65

    /// With at most this number of ids, a search for their bytes is faster than parsing.
    private static let mostSearched = 8

    private let groups: [Group]
    /// The id of each subject.
    private let ids: [[UInt8]]
    private var scanner = Scanner(PathTrie([]), depth: Scanner.deepest)

    /// Throws if the path of a subject is not a path.
    init(_ subjects: [Erasure.Subject]) throws(SettingsFault) {
        var groups: [String: Group] = [:]
        for subject in subjects {
            guard !subject.id.isEmpty else { throw SettingsFault("the router asked to erase an empty id") }
            if groups[subject.member] == nil {
                groups[subject.member] = Group(keys: try EventPath(subject.member).keys.map { Array($0.utf8) }, ids: [])
            }
            groups[subject.member]?.ids.insert(Array(subject.id.utf8))
        }
        self.groups = Array(groups.values)
        ids = subjects.map { Array($0.id.utf8) }
        assert(!ids.isEmpty, "an erasure has no subject")
    }

    /// Judges a line, given without its newline. `padding` readable bytes follow it, the first of which is a newline.
    func judge(_ line: UnsafeRawBufferPointer) -> Verdict {
        guard let base = line.baseAddress?.assumingMemoryBound(to: UInt8.self), !line.isEmpty else { return .stays }
        // An escape can stand for any character, also inside a key.
        if ids.count <= SubjectFilter.mostSearched, mayHold(line).isEmpty { return .stays }
        guard scanner.scan(base, 0) != nil, Int(scanner.lineEnd) == line.count else {
            let subjects = mayHold(line)
            return subjects.isEmpty ? .stays : .unreadable(subjects)
        }
        let event = EventValue(json: line)
        return groups.contains { SubjectFilter.holds(event, $0.keys[...], $0.ids) } ? .goes : .stays
    }

    /// Returns the subjects whose id the line may contain.
    private func mayHold(_ line: UnsafeRawBufferPointer) -> Set<Int> {
        let hasEscape = SubjectFilter.contains(line, [UInt8(ascii: "\\")])
        return Set(ids.indices.filter { hasEscape || SubjectFilter.contains(line, ids[$0]) })
    }

    private static func contains(_ line: UnsafeRawBufferPointer, _ part: [UInt8]) -> Bool {
        part.withUnsafeBytes { cplatform_find(line.baseAddress!, line.count, $0.baseAddress!, $0.count) != nil }
    }

    private static func holds(_ value: EventValue, _ keys: ArraySlice<[UInt8]>, _ ids: Set<[UInt8]>) -> Bool {
        guard let key = keys.first else { return isID(value, ids) }
        for (name, member) in value.members {
            guard let text = name.text, text.utf8.elementsEqual(key) else { continue }
            if holds(member, keys.dropFirst(), ids) { return true }
        }
        return false
    }

    private static func isID(_ value: EventValue, _ ids: Set<[UInt8]>) -> Bool {
        switch value.kind {
        case .text: value.text.map { ids.contains(Array($0.utf8)) } ?? false
        // The number 42.0 is the id 42 too.
        case .number: ids.contains(Array(value.json)) || value.integer.map { ids.contains(Array("\($0)".utf8)) } ?? false
        default: false
        }
    }
}
