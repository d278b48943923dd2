// What came into a plan from the environment or from files. Who shows an event or a plan asks here first, and shows no such text.

public struct HiddenTexts: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// By their bytes: what looks alike may be another text.
    private let texts: Set<[UInt8]>

    /// An empty text hides nothing.
    public init(_ texts: [String] = []) {
        self.texts = Set(texts.map { Array($0.utf8) }.filter { !$0.isEmpty })
    }

    public var isEmpty: Bool { texts.isEmpty }
    public func contains(_ text: some Sequence<UInt8>) -> Bool { !texts.isEmpty && texts.contains(Array(text)) }

    public var description: String { "(secrets)" }
    public var debugDescription: String { description }
}

extension Node {
    /// The values in it that a placeholder made.
    var hiddenTexts: [String] {
        switch value {
        case .null, .bool, .number: []
        case .text(let text): text.isTainted ? [text.value] : []
        case .list(let items): items.flatMap(\.hiddenTexts)
        case .object(let entries): entries.flatMap(\.node.hiddenTexts)
        }
    }
}
