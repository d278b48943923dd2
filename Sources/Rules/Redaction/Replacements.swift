// The changes to the bytes of an event: ranges and the new text of each, in the order of the event. Its memory is reused for every
// event. If nothing is found, nothing is allocated.

public import Events

/// A range of offsets from the start of the block, and its new text, which is a range of `Replacements.texts`.
public struct Replacement: BitwiseCopyable {
    public var start: UInt32
    public var end: UInt32
    var text: Int
    public var count: Int
}

public struct Replacements: ~Copyable {
    public private(set) var count = 0
    private var base: UnsafeMutablePointer<Replacement>
    private var capacity = 16
    /// The new texts: first those for all events, then those of this event.
    private var texts = ByteBuffer(capacity: 256)
    private var lasting = 0

    public init() { base = .allocate(capacity: capacity) }

    deinit { base.deallocate() }

    public var isEmpty: Bool { count == 0 }

    @inline(__always) public subscript(i: Int) -> Replacement {
        assert((0..<count).contains(i), "there is no such replacement")
        return base[i]
    }

    /// Returns the text of a replacement. It is valid until the next event. `slack` bytes after it can be read.
    @inline(__always) public func text(_ replacement: Replacement) -> Bytes { Bytes(texts.base + replacement.text) }

    /// The number of bytes after a text that can be read.
    public static let slack = 64

    /// The number of bytes by which the event grows. It is negative if the event shrinks.
    public var growth: Int {
        var sum = 0
        for i in 0..<count { sum += base[i].count - Int(base[i].end - base[i].start) }
        return sum
    }

    /// Appends the bytes from `start` to `end` with the replacements applied.
    public func write(_ block: Bytes, start: UInt32, end: UInt32, to out: inout ByteBuffer) {
        var at = start
        for i in 0..<count {
            let one = base[i]
            assert(one.start >= at && one.end <= end, "a replacement lies outside the part that is written")
            out.append(block + Int(at), Int(one.start - at))
            out.append(text(one), one.count)
            at = one.end
        }
        out.append(block + Int(at), Int(end - at))
    }

    // MARK: - Filling

    /// Adds a text for all events and returns its position.
    mutating func keep(_ text: [UInt8]) -> Int {
        precondition(texts.count == lasting, "texts that stay come first")
        let place = texts.count
        text.withUnsafeBytes { texts.append(contentsOf: $0) }
        lasting = texts.count
        texts.reserve(Replacements.slack)
        return place
    }

    @inline(__always) public mutating func removeAll() {
        count = 0
        texts.truncate(to: lasting)
    }

    mutating func append(_ start: Int, _ end: Int, text: Int, count length: Int) {
        assert(count == 0 || Int(base[count - 1].end) <= start, "replacements come in order")
        assert(start <= end, "a replaced range ends before it begins")
        assert(text >= 0 && length >= 0 && text + length <= texts.count, "a replacement has a text that was not written")
        if count == capacity { grow() }
        base[count] = Replacement(
            start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end), text: text, count: length)
        count += 1
    }

    /// The position at which the next text of this event begins.
    public var textEnd: Int { texts.count }

    public mutating func put(_ byte: UInt8) { texts.append(byte) }
    public mutating func put(_ bytes: Bytes, _ n: Int) { texts.append(bytes, n) }

    /// Appends a replacement. Its text is what was put since `begun`.
    public mutating func append(_ start: Int, _ end: Int, textSince begun: Int) {
        texts.reserve(Replacements.slack)
        append(start, end, text: begun, count: texts.count - begun)
    }

    /// Removes the replacements that begin at or after `start`.
    mutating func removeLast(from start: Int) {
        while count > 0, Int(base[count - 1].start) >= start { count -= 1 }
    }

    @inline(never) private mutating func grow() {
        let larger = UnsafeMutablePointer<Replacement>.allocate(capacity: capacity * 2)
        larger.update(from: base, count: count)
        base.deallocate()
        base = larger
        capacity *= 2
    }
}
