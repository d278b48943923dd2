// A growable run of plain values: what a parcel notes of its events. Unlike an array it has one owner, so that adding
// to it asks nothing and counts no reference.

public struct Column<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
    private var base: UnsafeMutablePointer<Element>?
    public private(set) var count = 0
    private var capacity = 0

    public init(capacity: Int = 0) {
        if capacity > 0 { grow(to: capacity) }
    }

    deinit { base?.deallocate() }

    /// Valid until the column changes.
    public var all: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: base, count: count) }

    @inline(__always) public mutating func append(_ element: Element) {
        if count == capacity { grow(to: max(16, capacity * 2)) }
        base.unsafelyUnwrapped[count] = element
        count &+= 1
    }

    public mutating func removeAll() { count = 0 }

    @inline(never) private mutating func grow(to wanted: Int) {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: wanted)
        if let base {
            larger.update(from: base, count: count)
            base.deallocate()
        }
        base = larger
        capacity = wanted
    }
}
