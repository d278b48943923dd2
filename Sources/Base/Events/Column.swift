// A growable sequence of plain values, which a parcel notes for its events. Unlike an array it has exactly one owner, so that adding a
// value needs neither a uniqueness check nor reference counting.

public struct Column<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
    private var base: UnsafeMutablePointer<Element>?
    public private(set) var count = 0
    private var capacity = 0

    public init(capacity: Int = 0) {
        if capacity > 0 { grow(to: capacity) }
    }

    deinit { base?.deallocate() }

    /// The values. The buffer is valid until the column changes.
    public var all: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: base, count: count) }

    @inline(__always) public mutating func append(_ element: Element) {
        if count == capacity { grow(to: max(16, capacity * 2)) }
        base.unsafelyUnwrapped[count] = element
        count &+= 1
    }

    public mutating func removeAll() { count = 0 }

    @inline(never) private mutating func grow(to wanted: Int) {
        precondition(wanted > count, "a column grows to no more than it holds")
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: wanted)
        if let base {
            larger.update(from: base, count: count)
            base.deallocate()
        }
        base = larger
        capacity = wanted
    }
}
