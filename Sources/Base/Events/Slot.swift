// What one scan of one line leaves behind: offsets, nothing built.

/// Where one wanted member lies, as offsets from the start of the block. `end == 0`: the event lacks it.
public struct Slot: Equatable {
    /// The opening quote of the member's key.
    public var key: UInt32 = 0
    /// The first byte of the value.
    public var start: UInt32 = 0
    /// One past the last byte of the value.
    public var end: UInt32 = 0
    /// For an object: how many members it has.
    public var members: UInt32 = 0

    public init() {}
    @inlinable @inline(__always) public var isPresent: Bool { end != 0 }
}

/// One valid event, as offsets into its block. Borrowed: it lives until its scanner scans the next line.
public struct ScannedEvent {
    /// The start of the block; every offset counts from here.
    public let block: Bytes
    /// The first byte of the line.
    public let start: UInt32
    /// One past the last byte of the line, without its line end (LF or CR LF).
    public let end: UInt32
    /// One slot for each node of the path trie; `PathTrie.root` is the event itself.
    public let slots: UnsafePointer<Slot>

    public init(block: Bytes, start: UInt32, end: UInt32, slots: UnsafePointer<Slot>) {
        self.block = block
        self.start = start
        self.end = end
        self.slots = slots
    }
}
