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
    // What the process was given at its start counts too.
    var limit = rlimit(rlim_cur: 256, rlim_max: 256)
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
        guard held.count > free else { break }
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
