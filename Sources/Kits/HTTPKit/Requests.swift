// The requests of one delivery, as a provider makes them and a client carries them out.

public import PluginKit

/// The requests of one delivery. Their bodies stay in memory until the delivery has ended.
public protocol Requests: AnyObject, Sendable {
    var count: Int { get }

    /// Returns the index of the request's target. The default is the first target.
    func target(of index: Int) -> Int

    /// Returns the method and the address of the request if they differ from those of its target. The address has the origin of the target.
    /// The default is nil.
    func place(of index: Int) -> Place?

    func body(_ index: Int) -> UnsafeRawBufferPointer

    /// Returns the indices of the events in a request, of a batch with that many events. The default is for one request with all events, or
    /// for one request for each event.
    func events(of index: Int, count: Int) -> [Int]

    /// The events that are in no request since they are refused, with the reason. The default is none.
    var refusals: [(index: Int, reason: String)] { get }

    /// Returns what an answer means for the events of its request. `standard` is the outcome by the status alone. It is called only for a
    /// whole answer to a request that was sent whole. The default returns `standard`.
    func outcome(of reply: Reply, to index: Int, standard: Outcome) -> Outcome

    /// Returns the outcome of the delivery. A request that has not begun has no outcome, and then `rest` applies to it. `rest` is also the
    /// pause that a server asked for. The default is for one request with all events, or for one request for each event.
    func outcome(of requests: [Outcome?], rest: Outcome?) -> Outcome
}

/// Where one request goes.
public struct Place: Sendable, Hashable {
    public var method: Target.Method
    /// The whole URL.
    public var url: String

    public init(_ method: Target.Method, _ url: String) {
        self.method = method
        self.url = url
    }
}

extension Requests {
    public func target(of index: Int) -> Int { 0 }

    public func place(of index: Int) -> Place? { nil }

    public func events(of index: Int, count: Int) -> [Int] { self.count == 1 ? Array(0..<count) : [index] }

    public var refusals: [(index: Int, reason: String)] { [] }

    public func outcome(of reply: Reply, to index: Int, standard: Outcome) -> Outcome { standard }

    public func outcome(of requests: [Outcome?], rest: Outcome?) -> Outcome {
        if requests.count == 1 { return requests[0] ?? rest ?? .delivered }
        func list(_ isListed: (Outcome) -> Bool) -> [(index: Int, outcome: Outcome)] {
            requests.indices.compactMap { index in
                guard let outcome = requests[index], isListed(outcome) else { return nil }
                return (index, outcome)
            }
        }
        // A pause applies to the server, even if every request had begun. So it becomes the outcome of the batch, and the whole lane waits.
        let hasLeft = requests.contains { $0.map { _ in false } ?? true }
        if let rest, hasLeft || rest.pause != nil { return .mixed(rest: rest, events: list { _ in true }) }
        let others = list { if case .delivered = $0 { false } else { true } }
        return others.isEmpty ? .delivered : .mixed(rest: .delivered, events: others)
    }
}

extension Outcome {
    /// The pause that the server asked for, in milliseconds.
    public var pause: UInt64? {
        switch self {
        case .retry(_, _, let milliseconds): milliseconds
        case .mixed(let rest, _): rest.pause
        default: nil
        }
    }
}
