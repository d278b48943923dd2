// Owns the compiled form of a plan: plain values in memory that never moves. Judging an event then needs neither reference counting nor the
// bounds checks of an array. All memory is freed together with the store.

/// Bytes that another object owns.
public struct ByteRun: BitwiseCopyable, Equatable {
    public let base: Bytes
    public let count: Int

    @inlinable @inline(__always) public init(base: Bytes, count: Int) {
        self.base = base
        self.count = count
    }

    @inlinable @inline(__always) public static func == (a: ByteRun, b: ByteRun) -> Bool {
        a.count == b.count && sameBytes(a.base, b: b.base, count: a.count)
    }

    public var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: base, count: count) }
}

public final class Store: @unchecked Sendable {
    private var held: [UnsafeMutableRawPointer] = []

    public init() {}

    public func list<T: BitwiseCopyable>(_ items: [T]) -> UnsafeBufferPointer<T> {
        let memory = UnsafeMutableBufferPointer<T>.allocate(capacity: max(1, items.count))
        _ = memory.initialize(from: items)
        held.append(UnsafeMutableRawPointer(memory.baseAddress!))
        return UnsafeBufferPointer(start: memory.baseAddress!, count: items.count)
    }

    public func one<T: BitwiseCopyable>(_ item: T) -> UnsafePointer<T> { list([item]).baseAddress! }

    /// Stores the bytes with slack after them, so that they can be copied in whole vectors.
    public func text(_ bytes: [UInt8]) -> ByteRun {
        let memory = list(bytes + [UInt8](repeating: 0, count: Words.slack))
        return ByteRun(base: memory.baseAddress!, count: bytes.count)
    }

    deinit {
        for memory in held { memory.deallocate() }
    }
}
