// Owns what a plan is compiled into: plain values in memory that never moves, so that judging an event touches
// no reference count and no bounds check of an array. Everything is freed when the ruleset goes.

internal import Events

/// Bytes that someone else owns.
struct ByteRun: BitwiseCopyable {
    let base: Bytes
    let count: Int

    @inline(__always) static func == (a: ByteRun, b: ByteRun) -> Bool {
        a.count == b.count && sameBytes(a.base, b.base, a.count)
    }

    var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: base, count: count) }
}

final class Store: @unchecked Sendable {
    private var held: [UnsafeMutableRawPointer] = []

    func list<T: BitwiseCopyable>(_ items: [T]) -> UnsafeBufferPointer<T> {
        let memory = UnsafeMutableBufferPointer<T>.allocate(capacity: max(1, items.count))
        _ = memory.initialize(from: items)
        held.append(UnsafeMutableRawPointer(memory.baseAddress!))
        return UnsafeBufferPointer(start: memory.baseAddress!, count: items.count)
    }

    func one<T: BitwiseCopyable>(_ item: T) -> UnsafePointer<T> { list([item]).baseAddress! }

    /// With slack behind it, so that it can be copied in whole vectors.
    func text(_ bytes: [UInt8]) -> ByteRun {
        let memory = list(bytes + [UInt8](repeating: 0, count: Words.slack))
        return ByteRun(base: memory.baseAddress!, count: bytes.count)
    }

    deinit {
        for memory in held { memory.deallocate() }
    }
}
