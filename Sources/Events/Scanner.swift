// stub
public struct Fault: Error {
    public var message: String
    public var offset: UInt32
}
public struct Scanner: ~Copyable {
    public init(_ paths: PathTrie, depth: Int = 512) {}
    /// The line that starts at `start` and ends at the next newline.
    public mutating func scan(_ block: Bytes, _ start: UInt32) -> ScannedEvent? { nil }
}
