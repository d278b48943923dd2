// Tests a call while the process has no free descriptor, then one, then two, and so on. Use it only in an exit test, because it limits the
// descriptors of the whole process.

import Glibc
import Platform

public struct DescriptorsLeft: Error {
    public let free: Int
    public let left: Int
}

/// Runs the body with no free descriptor, with one, and so on, until it succeeds. The body must fail at least once. Throws if a body that
/// fails does not leave as many descriptors free as before.
public func withFewDescriptors(_ body: () throws -> Void) throws {
    // The process may have inherited any number of descriptors. The limit leaves enough beside these.
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
