// Finds the text that a string of an event is, among those of a schema: the names of its members, or the values of an `enum`. The table
// compares the first 16 bytes at once, so that a usual string takes the same few steps whichever text it is. It is built once and never changes.

internal import CSIMD
internal import Events

struct KeyTable: BitwiseCopyable {
    /// One place of the table. Its index is -1 if it has no text.
    struct Entry: BitwiseCopyable {
        fileprivate var low: UInt64 = 0
        fileprivate var high: UInt64 = 0
        /// The bit of the member, if it is one of the first 64, has a schema and a key of at most 15 bytes. Otherwise it has no bit.
        fileprivate(set) var bit: UInt64 = 0
        /// The index of the member and of its schema.
        fileprivate(set) var index: Int32 = -1
        fileprivate(set) var schema: Int32 = -1
    }

    private var entries = UnsafePointer<Entry>(bitPattern: 8)!
    private var factors: (low: UInt64, high: UInt64) = (1, 1)
    private var shift: UInt64 = 63
    private var mask = 0

    /// A table that must not be searched.
    init() {}

    /// Builds the table of these members, whose keys are different. `store` keeps it.
    init(_ members: [MemberRule], store: Store) {
        // At most a quarter of the places are taken. With one of the factors, most tables have each key at its first place.
        var bits: UInt64 = 2
        while 1 << bits < members.count * 4 { bits += 1 }
        shift = 64 - bits
        mask = 1 << Int(bits) - 1
        var best: (entries: [Entry], moved: Int)?
        for attempt: UInt64 in 1...(members.count <= 64 ? 32 : 1) {
            let factors = (low: attempt &* 0x9e37_79b9_7f4a_7c15 | 1, high: attempt &* 0xc2b2_ae3d_27d4_eb4f | 1)
            let table = KeyTable.fill(members, factors, shift: shift, mask: mask)
            if table.moved < best?.moved ?? .max { (best, self.factors) = (table, factors) }
            if table.moved == 0 { break }
        }
        entries = store.list(best!.entries).baseAddress!
    }

    /// Returns the table, and how many places are passed before the keys are found.
    private static func fill(
        _ members: [MemberRule], _ factors: (low: UInt64, high: UInt64), shift: UInt64, mask: Int
    ) -> (entries: [Entry], moved: Int) {
        var entries = [Entry](repeating: Entry(), count: mask + 1)
        var moved = 0
        for (index, member) in members.enumerated() where !isEscaped(member.key) {
            // Zeros follow the key, and the words of an event's key are filled with zeros.
            let key = csimd_read_key(member.key.base)
            var place = KeyTable.place(key, factors, shift)
            while entries[place].index >= 0 {
                place = (place + 1) & mask
                moved += 1
            }
            entries[place] = Entry(low: key.low, high: key.high, index: Int32(index), schema: Int32(member.schema))
            if index < 64, member.schema >= 0, member.key.count < 16 { entries[place].bit = 1 << UInt64(index) }
        }
        return (entries, moved)
    }

    /// True if an event can write the key with an escape only. Such a key is not in the table, so that a key with an escape, whose bytes are
    /// not its text, is never found there.
    private static func isEscaped(_ key: ByteRun) -> Bool {
        key.bytes.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
    }

    /// Returns the entry of the key that `csimd_read_key` read after its opening quote. An entry without a bit can be that of another key,
    /// or of none: the words of a key of up to 15 bytes are those of no other key, since no key has a byte of zero. Returns nil if the key is
    /// not in the table.
    @inline(__always) func find(_ key: csimd_key) -> UnsafePointer<Entry>? {
        var place = KeyTable.place(key, factors, shift)
        while true {
            let entry = entries + place
            if entry.pointee.low == key.low, entry.pointee.high == key.high { return entry }
            if entry.pointee.index < 0 { return nil }
            place = (place &+ 1) & mask
        }
    }

    /// Returns the index of any key without an escape, or -1.
    func index(of key: ByteRun, in members: UnsafeBufferPointer<MemberRule>) -> Int {
        let words = csimd_read_key(key.base)
        var place = KeyTable.place(words, factors, shift)
        while entries[place].index >= 0 {
            let entry = entries[place]
            if entry.low == words.low, entry.high == words.high, members[Int(entry.index)].key == key { return Int(entry.index) }
            place = (place &+ 1) & mask
        }
        return -1
    }

    @inline(__always) private static func place(_ key: csimd_key, _ factors: (low: UInt64, high: UInt64), _ shift: UInt64) -> Int {
        Int(truncatingIfNeeded: (key.low &* factors.low ^ key.high &* factors.high) &>> shift)
    }
}
