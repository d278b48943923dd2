// A growable sequence of plain values, which a parcel notes for its events. Unlike an array it has exactly one owner, so that adding a
// value needs neither a uniqueness check nor reference counting.

public struct Column<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
    @usableFromInline var base: UnsafeMutablePointer<Element>?
    /// It is separate from `count`, so that other modules can inline the functions that change it and still cannot set it.
    @usableFromInline var filled = 0
    @usableFromInline var capacity = 0

    public init(capacity: Int = 0) {
        if capacity > 0 { grow(to: capacity) }
    }

    deinit { base?.deallocate() }

    @inlinable public var count: Int { filled }

    /// The values. The buffer is valid until the column changes.
    public var all: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: base, count: count) }

    @inlinable @inline(__always) public mutating func append(_ element: Element) {
        if filled == capacity { grow(to: max(16, capacity * 2)) }
        base.unsafelyUnwrapped[filled] = element
        filled &+= 1
    }

    public mutating func removeAll() { filled = 0 }

    @inline(never) @inlinable mutating func grow(to wanted: Int) {
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
