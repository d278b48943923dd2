// A module with three planted bugs. It is loaded at run time; no other part of the project links it.

import Glibc

/// The last allocated memory. It is read after it was freed, or it is overwritten without being freed.
private nonisolated(unsafe) var lost: UnsafeMutablePointer<Int>?
private nonisolated(unsafe) let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)

/// Two threads add to one number without a lock.
@_cdecl("planted_race")
public func plantedRace() -> Int {
    count.initialize(to: 0)
    let threads = (0..<2).map { _ in
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { _ in
                for _ in 0..<10_000 { count.pointee += 1 }
                return nil
            }, nil)
        return thread
    }
    for thread in threads { pthread_join(thread, nil) }
    return count.pointee
}

/// Reads memory that was freed.
@_cdecl("planted_use_after_free")
public func plantedUseAfterFree() -> Int {
    lost = .allocate(capacity: 8)
    lost!.initialize(repeating: 1, count: 8)
    lost!.deallocate()
    return lost![3]
}

/// Allocates memory and never frees it.
@_cdecl("planted_leak")
public func plantedLeak() -> Int {
    for size in 1...64 {
        lost = .allocate(capacity: size)
        lost!.initialize(repeating: size, count: size)
    }
    defer { lost = nil }
    return lost![0]
}
