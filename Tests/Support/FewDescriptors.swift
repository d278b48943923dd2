// What becomes of a call that finds the descriptors of the process used up, at each of those that it takes. For an exit test: it bounds
// the descriptors of the whole process.

import Glibc
import Platform

public struct DescriptorsLeft: Error {
    public let free: Int
    public let left: Int
}

/// Runs the body with no free descriptor, with one, and so on, until it does without an error; then it has to have failed once at least.
/// Thrown when a body that fails has not left as many of them free as there were.
public func withFewDescriptors(_ body: () throws -> Void) throws {
    // The process may have been given any number of them at its start; there is room for enough beside these.
    let highest = (3...65_535).last { fcntl(Int32($0), F_GETFD) >= 0 } ?? 3
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, rlim_t(highest + 64))
    limit.rlim_max = limit.rlim_cur
    guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { throw SystemFault() }
    var held = takeAll()
    for free in 0...32 {
        do {
            try body()
            guard free > 0 else { break }
            for one in held { close(one) }
            return
        } catch {
            let left = takeAll()
            held += left
            guard left.count == free else { throw DescriptorsLeft(free: free, left: left.count) }
        }
        for one in held.suffix(free + 1) { close(one) }
        held.removeLast(free + 1)
    }
    throw SystemFault(code: EINVAL)
}

private func takeAll() -> [Int32] {
    var taken: [Int32] = []
    while case let one = dup(0), one >= 0 { taken.append(one) }
    return taken
}
