// The result of one scan of one line: only offsets.

/// The place of one wanted member, as offsets from the start of the block. If `end` is 0, the event lacks the member.
public struct Slot: Equatable {
    /// The opening quote of the member's key.
    public var key: UInt32 = 0
    /// The first byte of the value.
    public var start: UInt32 = 0
    /// The place after the last byte of the value.
    public var end: UInt32 = 0
    /// The number of members, if the value is an object.
    public var members: UInt32 = 0

    public init() {}
    @inlinable @inline(__always) public var isPresent: Bool { end != 0 }
}

/// One valid event, as offsets into its block. It is borrowed and valid until the scan after the next one of its scanner.
public struct ScannedEvent {
    /// The start of the block. Every offset counts from here.
    public let block: Bytes
    /// The first byte of the line.
    public let start: UInt32
    /// The place after the last byte of the line, without its line end (LF or CR LF).
    public let end: UInt32
    /// One slot for each node of the path trie. `PathTrie.root` is the slot of the event itself.
    public let slots: UnsafePointer<Slot>

    public init(block: Bytes, start: UInt32, end: UInt32, slots: UnsafePointer<Slot>) {
        assert(start <= end, "an event ends before it begins")
        self.block = block
        self.start = start
        self.end = end
        self.slots = slots
    }
}
