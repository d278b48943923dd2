// Reads the words before a text: those in the same string, or, if there are none, the key of its member. A word of camel case ends where
// the next one begins. It is read only for texts that could be a find, so most strings never come here.

internal import Events

struct Surroundings {
    /// The bytes that hold the string with its key.
    let block: Bytes
    /// The position of the string's opening quote, and the start of the event.
    let quote: Int
    let floor: Int

    /// Returns true if one of the words before `start` belongs to the topic.
    @inline(never) func announce(_ topic: Topic, _ text: Subject, before start: Int) -> Bool {
        var words = WordsBefore(text: text, end: start)
        var count = 0
        while count < topic.reach, let word = words.next() {
            if topic.words.contains(word) { return true }
            count += 1
        }
        return count == 0 && !words.isStopped && keyAnnounces(topic)
    }

    /// Returns true if the words before `start` name a key of a program, as in `api_key` or `secretAccessKey`.
    @inline(never) func announceSecret(_ text: Subject, before start: Int) -> Bool {
        var words = WordsBefore(text: text, end: start)
        if let last = words.next() { return Surroundings.nameSecret(last, words.next()) }
        guard !words.isStopped, let key else { return false }
        words = WordsBefore(text: key, end: key.count)
        return words.next().map { Surroundings.nameSecret($0, words.next()) } ?? false
    }

    private static func nameSecret(_ last: Word, _ before: Word?) -> Bool {
        if Topic.secret.words.contains(last) { return true }
        guard last.isKey, let before else { return false }
        return Topic.keyWords.contains(before)
    }

    /// Returns true if the string is the value of a member, and `isEnd` accepts the last two bytes of its key. A key with more than one blank
    /// after it is not read, and true is returned.
    @inline(__always) func keyEnds(_ isEnd: (UInt8, UInt8) -> Bool) -> Bool {
        guard quote - floor > 5 else { return false }
        let i = block[quote - 1] == 0x20 ? quote - 2 : quote - 1
        guard block[i] == UInt8(ascii: ":") else { return block[i] == 0x20 || block[i] == 0x09 }
        guard block[i - 1] == UInt8(ascii: "\"") else { return true }
        return isEnd(block[i - 3], block[i - 2])
    }

    private func keyAnnounces(_ topic: Topic) -> Bool {
        guard let key else { return false }
        var words = WordsBefore(text: key, end: key.count)
        var count = 0
        while count < topic.reach, let word = words.next() {
            if topic.words.contains(word) { return true }
            count += 1
        }
        return false
    }

    /// The last bytes of the key of the member whose value is the string. It is nil for a key and for an element of a list.
    private var key: Subject? {
        var i = quote - 1
        func skipBlanks() { while i > floor, block[i] == 0x20 || block[i] == 0x09 { i -= 1 } }
        skipBlanks()
        guard i > floor, block[i] == UInt8(ascii: ":") else { return nil }
        i -= 1
        skipBlanks()
        guard i > floor, block[i] == UInt8(ascii: "\"") else { return nil }
        let end = i
        while i > floor, end - i <= WordsBefore.most, block[i - 1] != UInt8(ascii: "\"") { i -= 1 }
        return Subject(base: block + i, count: end - i)
    }
}

/// A word of a text: ASCII letters, or letters beyond ASCII.
struct Word {
    let text: Subject
    let start: Int
    let end: Int

    fileprivate var isKey: Bool {
        let key: StaticString = "key"
        return end - start == key.utf8CodeUnitCount && isEnd(key.utf8Start, key.utf8CodeUnitCount)
    }

    /// The last byte in lower case.
    var lastByte: UInt8 { Byte.isLetter(text[end - 1]) ? text[end - 1] | 0x20 : text[end - 1] }

    /// Returns true if the word ends in these bytes, whatever the case of its ASCII letters.
    func isEnd(_ word: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        for n in 0..<length {
            let c = text[end - length + n]
            if (Byte.isLetter(c) ? c | 0x20 : c) != word[n] { return false }
        }
        return true
    }
}

/// The words before a position, the nearest first. It stops at a digit, at the end of a sentence, and after `most` bytes.
struct WordsBefore {
    static let most = 48

    let text: Subject
    private var i: Int
    private let least: Int
    /// True if something other than the start of the text ended the search.
    private(set) var isStopped = false

    init(text: Subject, end: Int) {
        self.text = text
        i = end
        least = max(0, end - WordsBefore.most)
    }

    mutating func next() -> Word? {
        while i > least, !isLetter(i - 1) {
            if text.isDigit(i - 1) || text[i - 1] == UInt8(ascii: "\n") {
                isStopped = true
                return nil
            }
            i -= 1
        }
        guard i > least else {
            isStopped = isStopped || least > 0
            return nil
        }
        let end = i
        while i > least, isLetter(i - 1) {
            i -= 1
            // The first letter of a word of camel case. One small letter before it belongs to it, as in `iPhone`.
            if (0x41...0x5a).contains(text[i]), Byte.isLetter(text[i - 1]), text[i - 1] >= 0x61, Byte.isLetter(text[i - 2]) { break }
        }
        return Word(text: text, start: i, end: end)
    }

    /// Returns true for ASCII letters and for bytes of letters beyond ASCII. The punctuation of East Asian scripts is no letter.
    private func isLetter(_ at: Int) -> Bool {
        let c = text[at]
        if c < 0x80 { return Byte.isLetter(c) }
        var first = at
        while first > at - 2, text[first] & 0xc0 == 0x80 { first -= 1 }
        let isPunctuation = text[first] == 0xe3 && text[first + 1] == 0x80 || text[first] == 0xef && text[first + 1] == 0xbc
        return !isPunctuation
    }
}
