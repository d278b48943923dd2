// A growable sequence of bytes for blocks, parcels and batches. It is reused and not allocated again. `count` bytes from `base` are
// initialized and `capacity` bytes are writable. It never shrinks without a request.

public struct ByteBuffer: ~Copyable, @unchecked Sendable {
    public internal(set) var base: UnsafeMutablePointer<UInt8>
    /// It is separate from `count`, so that other modules can inline the functions that change it and still cannot set it.
    @usableFromInline var filled = 0
    public internal(set) var capacity: Int

    public init(capacity: Int = 0) {
        self.capacity = max(64, capacity)
        base = .allocate(capacity: self.capacity)
    }

    deinit { base.deallocate() }

    @inlinable public var count: Int { filled }
    @inlinable public var isEmpty: Bool { filled == 0 }

    /// Reserves memory for `n` more bytes.
    @inlinable public mutating func reserve(_ n: Int) {
        assert(n >= 0, "a negative number of bytes is reserved")
        if count + n > capacity { grow(by: n) }
    }

    @inline(never) @usableFromInline mutating func grow(by n: Int) {
        let wanted = max(capacity * 2, count + n)
        precondition(n >= 0 && wanted >= count, "a buffer grows to less than it holds")
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
        larger.update(from: base, count: count)
        base.deallocate()
        base = larger
        capacity = wanted
    }

    @inlinable public mutating func append(_ bytes: Bytes, _ n: Int) {
        reserve(n)
        appendReserved(bytes, n)
    }

    @inlinable public mutating func append(_ byte: UInt8) {
        reserve(1)
        base[count] = byte
        extend(by: 1)
    }

    @inlinable public mutating func append(contentsOf bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        append(start.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    public mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: UnsafeRawBufferPointer($0)) }
    }

    /// Appends bytes into memory that `reserve` has provided.
    @inlinable @inline(__always) public mutating func appendReserved(_ bytes: Bytes, _ n: Int) {
        assert(n >= 0 && n <= capacity - count, "the space was not reserved")
        (base + count).update(from: bytes, count: n)
        extend(by: n)
    }

    /// Declares that other code, such as `read`, has written `n` bytes after `count`.
    @inlinable public mutating func extend(by n: Int) {
        assert(n >= 0 && count + n <= capacity, "bytes were written after the end of the buffer")
        filled += n
    }

    @inlinable public mutating func removeAll() { filled = 0 }

    @inlinable public mutating func truncate(to n: Int) {
        assert(n >= 0 && n <= count, "a buffer is cut to more than it holds")
        filled = n
    }

    @inlinable public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
}
