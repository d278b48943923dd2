import Foundation

/// True if the tests run under a sanitizer, which makes them about ten times slower.
public let isSanitized = ProcessInfo.processInfo.environment["SWITCHYARD_SANITIZER"] != nil

/// Returns the number of rounds of a random test. It is a fifth under a sanitizer, which looks for faults that most rounds show.
public func rounds<Count: BinaryInteger>(_ count: Count) -> Count { isSanitized ? max(1, count / 5) : count }

/// Returns the numbers below this one at which a test tries a fault: all of them, or every fifth under a sanitizer.
public func places<Count: BinaryInteger>(below count: Count) -> StrideTo<Count> where Count.Stride: SignedInteger {
    stride(from: 0, to: count, by: isSanitized ? 5 : 1)
}
