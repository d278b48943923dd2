// Answers that name events by their places in a request.

extension Value {
    /// Returns the numbers of a list that are indices of a request with so many events. An answer is foreign: what is no index is left out.
    public func indices(below count: Int) -> [Int] {
        elements.compactMap { $0.event.integer }.filter { (0..<count).contains($0) }
    }
}

extension Judgement {
    /// Gives each wire event of a request the outcome that `outcome` returns for its index.
    public static func each(of request: SentRequest, _ outcome: (Int) -> Outcome) -> Judgement {
        .mixed(rest: .delivered, (0..<request.count).map { (index: $0, outcome: outcome($0)) })
    }
}
