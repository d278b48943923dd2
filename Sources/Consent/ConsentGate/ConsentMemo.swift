// A cache of recent consent objects and what they state. Many events carry one of a few different objects, so most events find theirs here,
// byte for byte, and it is not evaluated again. The cache never answers for different bytes, and has a fixed size.

internal import Events

struct ConsentMemo: ~Copyable {
    private static let places = 64
    /// The maximum length of a cached object, in bytes.
    private static let longest = 160

    private struct Place: BitwiseCopyable {
        /// The length of the text. It is 0 if the place is empty.
        var count = 0
        var member = 0
        var isBroken = false
        var level = 0
        var statesLevel = false
        var statesPurposes = false
        var isMapped = false
        var isPrivate = false
    }

    private let width: Int
    private let places: UnsafeMutablePointer<Place>
    private let texts: UnsafeMutablePointer<UInt8>
    /// For each place, the granted purposes, the refused ones, and those that signals with configured meanings cover.
    private let sets: UnsafeMutablePointer<UInt64>

    /// Makes an empty cache for sets of `width` words.
    init(width: Int) {
        self.width = width
        places = .allocate(capacity: ConsentMemo.places)
        places.initialize(repeating: Place(), count: ConsentMemo.places)
        texts = .allocate(capacity: ConsentMemo.places * ConsentMemo.longest)
        texts.initialize(repeating: 0, count: ConsentMemo.places * ConsentMemo.longest)
        sets = .allocate(capacity: ConsentMemo.places * width * 3)
        sets.initialize(repeating: 0, count: ConsentMemo.places * width * 3)
    }

    deinit {
        places.deallocate()
        texts.deallocate()
        sets.deallocate()
    }

    /// Returns the place for these bytes. Returns nil if they are too short or too long to be cached.
    @inline(__always) func place(of text: ByteRun) -> Int? {
        guard text.count >= 16, text.count <= ConsentMemo.longest else { return nil }
        let near = Words.load(text.base + 8) &* 0x9e37_79b9_7f4a_7c15
        let far = Words.load(text.base + (text.count &- 8)) &* 0xc2b2_ae3d_27d4_eb4f
        let mixed = (near ^ far &+ UInt64(truncatingIfNeeded: text.count)) &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: mixed &>> 58)
    }

    @inline(__always) func stated(at index: Int, _ member: Int, _ text: ByteRun) -> StatedConsent? {
        let place = (places + index).pointee
        guard place.count == text.count, place.member == member,
            sameBytes(texts + index &* ConsentMemo.longest, b: text.base, count: text.count)
        else { return nil }
        let granted = sets + index &* width &* 3
        return StatedConsent(
            isBroken: place.isBroken, level: place.level, statesLevel: place.statesLevel, statesPurposes: place.statesPurposes,
            isMapped: place.isMapped, isPrivate: place.isPrivate, granted: granted, refused: granted + width, covered: granted + 2 &* width)
    }

    mutating func keep(_ stated: StatedConsent, at index: Int, member: Int, text: ByteRun) {
        assert(index < ConsentMemo.places && text.count <= ConsentMemo.longest, "the text is too long to be cached, or has no place")
        places[index] = Place(
            count: text.count, member: member, isBroken: stated.isBroken, level: stated.level, statesLevel: stated.statesLevel,
            statesPurposes: stated.statesPurposes, isMapped: stated.isMapped, isPrivate: stated.isPrivate)
        (texts + index * ConsentMemo.longest).update(from: text.base, count: text.count)
        let granted = sets + index * width * 3
        granted.update(from: stated.granted, count: width)
        (granted + width).update(from: stated.refused, count: width)
        (granted + 2 * width).update(from: stated.covered, count: width)
    }
}
