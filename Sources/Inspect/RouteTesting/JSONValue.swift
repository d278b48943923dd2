// A value of JSON that can be compared: a part of a test file, or of what the judge made of an event. Numbers are kept as they are written,
// since an edited event keeps its bytes. The order of an object's members does not count.

public import Document

public indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number as it is written.
    case number(String)
    case string(String)
    case list([JSONValue])
    case object([Entry])

    public struct Entry: Sendable, Equatable {
        public var key: String
        public var value: JSONValue
    }

    public init(_ node: Node) {
        switch node.value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let text): self = .number(text)
        case .text(let text): self = .string(text.value)
        case .list(let items): self = .list(items.map(JSONValue.init))
        case .object(let entries): self = .object(entries.map { Entry(key: $0.key.name, value: JSONValue($0.node)) })
        }
    }

    /// Reads one value. Returns nil if the text is none.
    public init?(parsing text: String) {
        do throws(LocatedFault) {
            let (root, _) = try Outline.read(Source(Array(text.utf8)), resolving: nil)
            self.init(root)
        } catch {
            return nil
        }
    }

    /// The value without spaces between its tokens.
    public var json: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): JSONText.quoted(text)
        case .list(let items): JSONText.list(items.map(\.json))
        case .object(let entries): JSONText.object(entries.map { ($0.key, $0.value.json) })
        }
    }

    public subscript(key: String) -> JSONValue? {
        if case .object(let entries) = self { entries.first { $0.key == key }?.value } else { nil }
    }
}

/// A place in which two values differ.
public struct Difference: Sendable, Equatable {
    /// The path of the member, such as `properties.items[2]`. It is empty for the value as a whole.
    public var path: String
    /// It is nil if the member should not be there.
    public var expected: JSONValue?
    /// It is nil if the member is missing.
    public var actual: JSONValue?

    public var description: String {
        let place = path.isEmpty ? "" : path + ": "
        let expected = self.expected.map { Words.shortened($0.json, 120) } ?? "no such member"
        return Words.visible("\(place)expected \(expected), is \(actual.map { Words.shortened($0.json, 120) } ?? "missing")")
    }
}

extension JSONValue {
    /// Returns where `actual` differs from this value, in the order of this value. Members that only `actual` has come last.
    public func differences(from actual: JSONValue, at path: String = "") -> [Difference] {
        switch (self, actual) {
        case (.object(let mine), .object(let other)):
            var found: [Difference] = []
            for entry in mine {
                let place = path.isEmpty ? entry.key : "\(path).\(entry.key)"
                if let value = actual[entry.key] {
                    found += entry.value.differences(from: value, at: place)
                } else {
                    found.append(Difference(path: place, expected: entry.value, actual: nil))
                }
            }
            for entry in other where self[entry.key] == nil {
                found.append(Difference(path: path.isEmpty ? entry.key : "\(path).\(entry.key)", expected: nil, actual: entry.value))
            }
            return found
        case (.list(let mine), .list(let other)) where mine.count == other.count:
            return mine.indices.flatMap { mine[$0].differences(from: other[$0], at: "\(path)[\($0)]") }
        default: return self == actual ? [] : [Difference(path: path, expected: self, actual: actual)]
        }
    }
}
