// A list of words, and a filter that excludes most other words without a comparison.

struct WordList: Sendable {
    /// The words in lower case, separated by spaces.
    private let words: StaticString
    /// A bit for the first byte, the last byte and the length of each word.
    private var filter = SIMD16<UInt64>()

    init(_ words: StaticString) {
        self.words = words
        forEach { word, length in
            let place = WordList.place(first: word[0], last: word[length - 1], length: length)
            filter[place >> 6] |= 1 << UInt64(place & 63)
            return false
        }
    }

    /// Returns true if the word is in the list. A word that does not begin with an ASCII letter needs only to end in one of the list, since
    /// some scripts write no spaces between words.
    func contains(_ word: Word) -> Bool {
        let length = word.end - word.start
        if word.text[word.start] >= 0x80 { return forEach { $1 <= length && word.isEnd($0, $1) } }
        let place = WordList.place(first: word.text[word.start] | 0x20, last: word.lastByte, length: length)
        guard filter[place >> 6] >> UInt64(place & 63) & 1 != 0 else { return false }
        return forEach { $1 == length && word.isEnd($0, $1) }
    }

    @inline(__always) private static func place(first: UInt8, last: UInt8, length: Int) -> Int {
        (Int(first) &* 37 &+ Int(last) &* 131 &+ length &* 411) & 1023
    }

    /// Calls `body` with each word and its length, until it returns true. Returns true if it did.
    @discardableResult private func forEach(_ body: (UnsafePointer<UInt8>, Int) -> Bool) -> Bool {
        var i = 0
        while i < words.utf8CodeUnitCount {
            var length = 0
            while i + length < words.utf8CodeUnitCount, words.utf8Start[i + length] != 0x20 { length += 1 }
            assert(length > 0, "a word of a list is empty")
            if body(words.utf8Start + i, length) { return true }
            i += length + 1
        }
        return false
    }
}
