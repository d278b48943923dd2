// The bytes of a connection that have arrived and were not used. They are read into memory of one size that connections share. A connection
// that waits for more bytes holds only as much memory as it has bytes, and an idle one none.

/// Pieces of memory of one size. Only the thread of the server uses it.
struct BufferPool: ~Copyable {
    static let size = 65536
    private static let most = 16
    private var free: [UnsafeMutablePointer<UInt8>] = []

    deinit { for memory in free { memory.deallocate() } }

    mutating func take() -> UnsafeMutablePointer<UInt8> { free.popLast() ?? .allocate(capacity: BufferPool.size) }

    mutating func giveBack(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
        if capacity == BufferPool.size, free.count < BufferPool.most { free.append(memory) } else { memory.deallocate() }
    }
}

struct InputBuffer: ~Copyable {
    private var memory: UnsafeMutablePointer<UInt8>?
    private var capacity = 0
    private var at = 0
    private var end = 0

    deinit { memory?.deallocate() }

    var isEmpty: Bool { at == end }
    /// The bytes of memory that it holds.
    var heldBytes: Int { capacity }

    /// The bytes that were not used.
    var waiting: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: memory.map { $0 + at }, count: end - at) }

    /// Marks the first bytes as used.
    mutating func pass(_ count: Int) {
        assert(count >= 0 && count <= end - at, "more bytes are used than have arrived")
        at += count
        if at == end { (at, end) = (0, 0) }
    }

    /// Returns memory for more bytes, of which there is always some.
    mutating func makeRoom(_ pool: inout BufferPool) -> UnsafeMutableBufferPointer<UInt8> {
        if capacity < BufferPool.size {
            let shared = pool.take()
            move(to: shared, capacity: BufferPool.size, &pool)
        } else if at > 0, let memory {
            memory.update(from: memory + at, count: end - at)
            (at, end) = (0, end - at)
        }
        if end == capacity { move(to: .allocate(capacity: 2 * capacity), capacity: 2 * capacity, &pool) }
        return UnsafeMutableBufferPointer(start: memory.map { $0 + end }, count: capacity - end)
    }

    /// Notes that so many bytes have arrived in the memory that `makeRoom` returned.
    mutating func arrived(_ count: Int) {
        assert(count <= capacity - end, "more bytes have arrived than had room")
        end += count
    }

    /// Keeps only as much memory as there are bytes, until `makeRoom` is called again.
    mutating func rest(_ pool: inout BufferPool) {
        if isEmpty {
            discard(&pool)
        } else if capacity >= BufferPool.size, end - at <= BufferPool.size / 4 {
            move(to: .allocate(capacity: end - at), capacity: end - at, &pool)
        }
    }

    mutating func discard(_ pool: inout BufferPool) {
        guard let memory else { return }
        pool.giveBack(memory, capacity: capacity)
        (self.memory, capacity, at, end) = (nil, 0, 0, 0)
    }

    private mutating func move(to other: UnsafeMutablePointer<UInt8>, capacity larger: Int, _ pool: inout BufferPool) {
        assert(larger >= end - at, "the bytes do not fit")
        if let memory {
            other.update(from: memory + at, count: end - at)
            pool.giveBack(memory, capacity: capacity)
        }
        (memory, capacity, at, end) = (other, larger, 0, end - at)
    }
}
