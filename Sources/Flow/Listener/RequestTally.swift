// Counts the requests of a listener by dialect and by the class of their answer.

internal import Platform

/// How many requests of one dialect ended in one way.
public struct AnswerCount: Sendable, Equatable {
    /// The name of the dialect, or `none` for a path that belongs to no dialect.
    public var dialect: String
    public var outcome: RequestOutcome
    public var requests: Int
}

/// The class of the status of an answer.
public enum RequestOutcome: String, Sendable, CaseIterable {
    case success = "2xx"
    case refused = "4xx"
    case unavailable = "5xx"
    /// The connection ended before the answer.
    case unanswered

    /// `status` is nil if there was no answer.
    init(status: Int?) {
        switch status {
        case nil: self = .unanswered
        case .some(200..<400): self = .success
        case .some(400..<500): self = .refused
        case .some: self = .unavailable
        }
    }
}

final class RequestTally: Sendable {
    private let dialects: [String]
    private let numbers: Monitor<[Int]>

    init(_ dialects: [String]) {
        self.dialects = dialects + ["none"]
        numbers = Monitor(Array(repeating: 0, count: self.dialects.count * RequestOutcome.allCases.count))
    }

    /// Counts a request that has ended. `dialect` is nil if its path belongs to none, and `status` is nil if it was not answered.
    func note(_ dialect: String?, _ status: Int?) {
        let row = dialect.flatMap { dialects.firstIndex(of: $0) } ?? dialects.count - 1
        let column = RequestOutcome.allCases.firstIndex(of: RequestOutcome(status: status))!
        numbers.withLock { $0[row * RequestOutcome.allCases.count + column] += 1 }
    }

    /// All counts, also those that are 0, so that a rate over time begins with the first request.
    var counts: [AnswerCount] {
        let numbers = numbers.withLock { $0 }
        let columns = RequestOutcome.allCases
        return dialects.enumerated().flatMap { row, dialect in
            columns.enumerated().map { AnswerCount(dialect: dialect, outcome: $1, requests: numbers[row * columns.count + $0]) }
        }
    }
}
