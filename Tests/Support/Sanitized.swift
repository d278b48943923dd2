import Foundation

/// Whether the tests run under a sanitizer, ten times as slow.
public let isSanitized = ProcessInfo.processInfo.environment["SWITCHYARD_SANITIZER"] != nil

/// How many rounds a test of chance plays: under a sanitizer a fifth of them, since it looks for faults that most rounds would show.
public func rounds<Count: BinaryInteger>(_ count: Count) -> Count { isSanitized ? max(1, count / 5) : count }

/// The numbers below this one, at each of which a fault is tried: all of them, or under a sanitizer every fifth.
public func places<Count: BinaryInteger>(below count: Count) -> StrideTo<Count> where Count.Stride: SignedInteger {
    stride(from: 0, to: count, by: isSanitized ? 5 : 1)
}
