import Foundation

/// Whether the tests run under a sanitizer, ten times as slow.
public let isSanitized = ProcessInfo.processInfo.environment["SWITCHYARD_SANITIZER"] != nil

/// How many rounds a test plays that depends on chance, or that tries every place of a fault: under a sanitizer a fifth, since that looks
/// for faults which each round would show.
public func rounds<Count: BinaryInteger>(_ count: Count) -> Count { isSanitized ? max(1, count / 5) : count }

/// Every `most`-th number below it: each one, or under a sanitizer every fifth.
public func places<Count: BinaryInteger>(below count: Count) -> StrideTo<Count> where Count.Stride: SignedInteger {
    stride(from: 0, to: count, by: isSanitized ? 5 : 1)
}
