// Tables that say which kinds a text can hold, by the classes of its bytes and its length, and which kinds can begin with which three bytes.
// They exclude most positions of a text without a branch, so that the detectors seldom run in vain.

struct Starts: ~Copyable {
    @inline(__always) static var none: UInt8 { 0 }
    @inline(__always) static var mark: UInt8 { 1 }
    /// An ASCII letter or digit. No find begins directly after one.
    @inline(__always) static var word: UInt8 { 2 }
    /// Bits beside those of the kinds: a random text after a word for a secret, a MAC with dots, and a national id that begins with a letter.
    @inline(__always) static var secret: UInt16 { 1 << 15 }
    @inline(__always) static var dottedMAC: UInt16 { 1 << 14 }
    @inline(__always) static var letterID: UInt16 { 1 << 13 }

    /// The sort of each byte.
    let sorts: UnsafeMutablePointer<UInt8>
    /// The kinds that can have each byte at the first, second or third place.
    private let places: UnsafeMutablePointer<UInt16>
    /// The number of bytes after a text that are read, so they must be readable.
    static let slack = 2
    /// The kinds that a text with some classes of bytes can hold, by `Seen`, and then those that a text of some length can hold.
    private let kinds: UnsafeMutablePointer<UInt16>

    init() {
        kinds = .allocate(capacity: 256 + Starts.longest + 1)
        for seen in UInt8.min...UInt8.max { kinds[Int(seen)] = Starts.possible(Seen(rawValue: seen)).rawValue }
        for count in 0...Starts.longest { kinds[256 + count] = Starts.possible(count).rawValue }
        sorts = .allocate(capacity: 256)
        places = .allocate(capacity: 3 * 256)
        for byte in UInt8.min...UInt8.max {
            let c = Int(byte)
            for place in 0..<3 { places[place << 8 + c] = Starts.bits(byte, at: place) }
            sorts[c] = Byte.isAlphanumeric(byte) ? Starts.word : places[c] == 0 ? Starts.none : Starts.mark
        }
        assert(Sensitive.allCases.count <= 13, "a bit belongs to two")
    }

    deinit {
        sorts.deallocate()
        places.deallocate()
        kinds.deallocate()
    }

    var begins: UnsafePointer<UInt16> { UnsafePointer(places) }

    /// Returns the kinds that can begin with the three bytes at `at`, by the table `begins`.
    @inline(__always) static func possible(_ begins: UnsafePointer<UInt16>, _ at: UnsafePointer<UInt8>) -> UInt16 {
        begins[Int(at[0])] & begins[256 + Int(at[1])] & begins[512 + Int(at[2])]
    }

    @inline(__always) func possible(_ seen: Seen, _ count: Int) -> SensitiveSet {
        SensitiveSet(rawValue: kinds[Int(seen.rawValue)] & kinds[256 + min(count, Starts.longest)])
    }

    private static func possible(_ seen: Seen) -> SensitiveSet {
        var all = SensitiveSet(.key)
        if seen.contains(.digit) {
            for kind in [Sensitive.phone, .nationalID, .card, .mac, .iban] { all.insert(SensitiveSet(kind)) }
            if seen.contains(.colon) || seen.contains(.dot) { all.insert(SensitiveSet(.ip)) }
        }
        if seen.contains(.at) { all.insert(SensitiveSet(.email)) }
        if seen.isSuperset(of: [.dot, .upperJ]) || seen.contains(.blank) { all.insert(SensitiveSet(.token)) }
        return all
    }

    /// The length from which every kind is possible.
    private static var longest: Int { 20 }

    /// Returns the kinds whose shortest find is not longer than a text of this length.
    private static func possible(_ count: Int) -> SensitiveSet {
        let least: [(Sensitive, Int)] = [
            (.ip, 3), (.email, 6), (.phone, 7), (.nationalID, 9), (.card, 12), (.mac, 14), (.iban, 15), (.token, 15), (.key, 20),
        ]
        return least.reduce(into: []) { if count >= $1.1 { $0.insert(SensitiveSet($1.0)) } }
    }

    private static func isOne(_ byte: UInt8, of characters: StaticString) -> Bool {
        (0..<characters.utf8CodeUnitCount).contains { characters.utf8Start[$0] == byte }
    }

    /// Returns the bits of the finds that can have a byte at a place, from 0 to 2.
    private static func bits(_ byte: UInt8, at place: Int) -> UInt16 {
        let (isDigit, isLetter, isHex) = (Byte.isDigit(byte), Byte.isLetter(byte), Byte.isHex(byte))
        let isMark = isOne(byte, of: " -./")
        let isCapital = isLetter && byte < 0x5b
        let isInSecret = APIKey.isSecretCharacter(byte)
        /// A kind, or another bit, and if the byte can be at the first, second and third place.
        let all: [(UInt16, [Bool])] = [
            (bit(.token), [isOne(byte, of: "ebB"), isOne(byte, of: "yeE"), isOne(byte, of: "JaA")]),
            (bit(.key), [isOne(byte, of: "ABSdghnprswxy"), isOne(byte, of: "KSIEGohilfpykqa"), isOne(byte, of: "IpousrtzGx2.m_-0")]),
            (secret, [isDigit || isLetter, isInSecret, isInSecret]),
            (bit(.email), [isDigit || isLetter || byte == UInt8(ascii: "_") || (0xc3...0xdf).contains(byte), true, true]),
            (bit(.iban), [isLetter, isLetter, isDigit]),
            (bit(.card), [isOne(byte, of: "23456"), isDigit, isDigit]),
            (bit(.nationalID), [isDigit, isDigit || isMark, isDigit || isMark]),
            (letterID, [isCapital, isDigit || isLetter || isMark, isDigit || isLetter || isMark]),
            (bit(.mac), [isHex, isHex, isOne(byte, of: ":-")]),
            (dottedMAC, [isHex, isHex, isHex]),
            (bit(.ip), [isHex || byte == UInt8(ascii: ":"), isHex || isOne(byte, of: ":."), isHex || isOne(byte, of: ":.")]),
            (
                bit(.phone),
                [
                    isDigit || isOne(byte, of: "+("), isDigit || isMark || isOne(byte, of: "()+"),
                    isDigit || isMark || isOne(byte, of: "()+xXeE"),
                ]
            ),
        ]
        return all.reduce(0) { $1.1[place] ? $0 | $1.0 : $0 }
    }

    private static func bit(_ kind: Sensitive) -> UInt16 { SensitiveSet(kind).rawValue }
}
