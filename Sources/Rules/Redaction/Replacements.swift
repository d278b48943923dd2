// What becomes of an event's bytes, as stretches and the text that takes the place of each, in the order of the event.
// Recycled for every event: where nothing is found nothing is allocated.

public import Events

/// One stretch, as offsets from the start of the block, and its new text, as a stretch of `Replacements.texts`.
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
    /// The texts: first those that stay, then the ones made for this event.
    private var texts = ByteBuffer(capacity: 256)
    private var lasting = 0

    public init() { base = .allocate(capacity: capacity) }

    deinit { base.deallocate() }

    public var isEmpty: Bool { count == 0 }

    @inline(__always) public subscript(i: Int) -> Replacement {
        assert((0..<count).contains(i))
        return base[i]
    }

    /// The text of a replacement; it lives until the next event. As many bytes as `slack` can be read behind it.
    @inline(__always) public func text(_ replacement: Replacement) -> Bytes { Bytes(texts.base + replacement.text) }

    /// How many bytes behind a text can be read.
    public static let slack = 64

    /// How many bytes the event gains; below zero: loses.
    public var growth: Int {
        var sum = 0
        for i in 0..<count { sum += base[i].count - Int(base[i].end - base[i].start) }
        return sum
    }

    /// Appends the bytes from `start` to `end` as they become.
    public func write(_ block: Bytes, _ start: UInt32, _ end: UInt32, to out: inout ByteBuffer) {
        var at = start
        for i in 0..<count {
            let one = base[i]
            out.append(block + Int(at), Int(one.start - at))
            out.append(text(one), one.count)
            at = one.end
        }
        out.append(block + Int(at), Int(end - at))
    }

    // MARK: - Filling

    /// Keeps a text for every event; its place.
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
        if count == capacity { grow() }
        base[count] = Replacement(
            start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end), text: text, count: length)
        count += 1
    }

    /// Begins a text of this event's own.
    public var textEnd: Int { texts.count }

    public mutating func put(_ byte: UInt8) { texts.append(byte) }
    public mutating func put(_ bytes: Bytes, _ n: Int) { texts.append(bytes, n) }

    /// Ends what was put since `begun` as the new text of a stretch.
    public mutating func append(_ start: Int, _ end: Int, textSince begun: Int) {
        texts.reserve(Replacements.slack)
        append(start, end, text: begun, count: texts.count - begun)
    }

    /// Takes back what begins at or behind `start`.
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
