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

/// The members of the object that a trie lists, in the order of the event. They lie behind the slots of the event. Of a member, `key` is its
/// opening quote and `members` the number of bytes between the quotes. `end` is noted only if the value is neither an object nor a list.
public struct ListedMembers: BitwiseCopyable {
    /// The most members that are listed. Of an object with more, none are.
    public static let most = 64

    public let first: UnsafePointer<Slot>
    public let count: Int

    /// Returns nil if the object has too many members, or is none. `slot` is `PathTrie.listed`, and `slots` is `PathTrie.count`.
    @inlinable @inline(__always) public init?(of event: ScannedEvent, slot: Int, slots: Int) {
        // The slot in front of the list has the number of members that it holds.
        let noted = event.slots + slots
        guard noted.pointee.members == event.slots[slot].members else { return nil }
        guard event.block[Int(event.slots[slot].start)] == UInt8(ascii: "{") else { return nil }
        first = noted + 1
        count = Int(noted.pointee.members)
    }
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
