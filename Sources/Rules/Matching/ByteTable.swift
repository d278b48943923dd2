// A table from texts to lists of numbers. It is made once and then only read. A look-up compares the whole text, so it never finds the list
// of another text. Texts that are looked up need no space after them: nothing beyond their end is read.

internal import Events

struct ByteTable: BitwiseCopyable {
    private struct Entry: BitwiseCopyable {
        var key: ByteRun
        var numbers: UnsafeBufferPointer<Int>
    }

    /// The texts and their lists, before the table is made.
    struct Lists {
        fileprivate private(set) var keys: [[UInt8]] = []
        fileprivate private(set) var numbers: [[Int]] = []
        private var places: [[UInt8]: Int] = [:]

        /// Adds the number to the list of the text, unless it is the last one there.
        mutating func add(_ number: Int, under key: [UInt8]) {
            if let place = places[key] {
                if numbers[place].last != number { numbers[place].append(number) }
                return
            }
            places[key] = keys.count
            keys.append(key)
            numbers.append([number])
        }
    }

    /// At most half of the entries are used, so that every look-up ends. An unused entry has no list.
    private let entries: UnsafeBufferPointer<Entry>
    private let shift: UInt64
    private let longestKey: Int

    init(_ lists: Lists, in store: Store) {
        var bits = 1
        while 1 << bits < 2 * lists.keys.count { bits += 1 }
        shift = UInt64(64 - bits)
        longestKey = lists.keys.map(\.count).max() ?? -1
        let none = Entry(key: store.text([]), numbers: UnsafeBufferPointer(start: nil, count: 0))
        var made = [Entry](repeating: none, count: 1 << bits)
        for (key, numbers) in zip(lists.keys, lists.numbers) {
            let text = store.text(key)
            var place = Int(ByteTable.hash(text) &>> shift)
            while !made[place].numbers.isEmpty { place = (place + 1) & (made.count - 1) }
            made[place] = Entry(key: text, numbers: store.list(numbers))
        }
        assert(made.contains { $0.numbers.isEmpty }, "a look-up in a full table would not end")
        entries = store.list(made)
    }

    /// Returns the list of the text. It is empty if the table has no such text.
    @inline(__always) func numbers(under key: ByteRun) -> UnsafeBufferPointer<Int> {
        guard key.count <= longestKey else { return UnsafeBufferPointer(start: nil, count: 0) }
        var place = Int(ByteTable.hash(key) &>> shift)
        while true {
            let entry = entries.baseAddress.unsafelyUnwrapped + place
            if entry.pointee.numbers.isEmpty || entry.pointee.key == key { return entry.pointee.numbers }
            place = (place &+ 1) & (entries.count &- 1)
        }
    }

    /// Only the plan decides what the table holds, so a hash without a secret is enough.
    @inline(__always) private static func hash(_ text: ByteRun) -> UInt64 {
        let factor: UInt64 = 0x9e37_79b9_7f4a_7c15
        let (p, count) = (text.base, text.count)
        var hash = UInt64(truncatingIfNeeded: count) &* factor
        func mix(_ word: UInt64) {
            hash = (hash ^ word) &* factor
            hash ^= hash &>> 32
        }
        if count >= 8 {
            var i = 0
            while i < count &- 8 {
                mix(Words.load(p + i))
                i &+= 8
            }
            mix(Words.load(p + (count &- 8)))
        } else {
            var word: UInt64 = 0
            for i in 0..<count { word = word &<< 8 | UInt64(p[i]) }
            mix(word)
        }
        return hash &* factor
    }
}
