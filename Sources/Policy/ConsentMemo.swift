// What the last consent objects came to. Few different ones stand in a great many events, so most events find theirs
// here, byte for byte, and it is not evaluated again. It never answers for bytes that differ, and holds a fixed room.

internal import Events

struct ConsentMemo: ~Copyable {
    private static let places = 64
    /// Longer ones are not kept.
    private static let longest = 160

    private struct Place: BitwiseCopyable {
        /// 0: nothing was kept here yet.
        var count = 0
        var member = 0
        var kind = ConsentState.Kind.unknown
        var level = 0
    }

    private let width: Int
    private let places: UnsafeMutablePointer<Place>
    private let texts: UnsafeMutablePointer<UInt8>
    private let granted: UnsafeMutablePointer<UInt64>

    /// For sets of purposes that have `width` words.
    init(width: Int) {
        self.width = width
        places = .allocate(capacity: ConsentMemo.places)
        places.initialize(repeating: Place(), count: ConsentMemo.places)
        texts = .allocate(capacity: ConsentMemo.places * ConsentMemo.longest)
        texts.initialize(repeating: 0, count: ConsentMemo.places * ConsentMemo.longest)
        granted = .allocate(capacity: ConsentMemo.places * width)
        granted.initialize(repeating: 0, count: ConsentMemo.places * width)
    }

    deinit {
        places.deallocate()
        texts.deallocate()
        granted.deallocate()
    }

    /// Where the state belongs that these bytes, as this member, come to; nil when they are too short or too long to keep.
    @inline(__always) func place(of text: ByteRun) -> Int? {
        guard text.count >= 16, text.count <= ConsentMemo.longest else { return nil }
        let near = Words.load(text.base + 8) &* 0x9e37_79b9_7f4a_7c15
        let far = Words.load(text.base + (text.count &- 8)) &* 0xc2b2_ae3d_27d4_eb4f
        let mixed = (near ^ far &+ UInt64(truncatingIfNeeded: text.count)) &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: mixed &>> 58)
    }

    @inline(__always) func state(at index: Int, _ member: Int, _ text: ByteRun) -> ConsentState? {
        let place = places + index
        guard place.pointee.count == text.count, place.pointee.member == member,
            sameBytes(texts + index &* ConsentMemo.longest, text.base, text.count)
        else { return nil }
        return ConsentState(kind: place.pointee.kind, level: place.pointee.level, granted: granted + index &* width)
    }

    mutating func keep(_ state: ConsentState, at index: Int, _ member: Int, _ text: ByteRun) {
        places[index] = Place(count: text.count, member: member, kind: state.kind, level: state.level)
        (texts + index * ConsentMemo.longest).update(from: text.base, count: text.count)
        (granted + index * width).update(from: state.granted, count: width)
    }
}
