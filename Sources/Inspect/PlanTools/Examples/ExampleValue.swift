// A JSON value of an example, of which one member can be replaced.

internal import Document

indirect enum ExampleValue {
    /// A value without members that can be replaced, as JSON.
    case json(String)
    case object([(key: String, value: ExampleValue)])

    var json: String {
        switch self {
        case .json(let text): text
        case .object(let members): JSONText.object(members.map { ($0.key, $0.value.json) })
        }
    }

    /// Returns the value at this place in it. Returns nil if there is none.
    func member(_ keys: ArraySlice<String>) -> ExampleValue? {
        guard let key = keys.first else { return self }
        guard case .object(let members) = self else { return nil }
        return members.first { sameText($0.key, key) }?.value.member(keys.dropFirst())
    }

    /// Returns the value with this member in it. Returns nil if something on the way to it is no object.
    func setting(_ keys: ArraySlice<String>, to value: ExampleValue) -> ExampleValue? {
        guard let key = keys.first else { return value }
        guard case .object(var members) = self else { return nil }
        let place = members.firstIndex { sameText($0.key, key) }
        let inner = place.map { members[$0].value } ?? .object([])
        guard let changed = inner.setting(keys.dropFirst(), to: value) else { return nil }
        if let place { members[place].value = changed } else { members.append((key, changed)) }
        return .object(members)
    }
}
