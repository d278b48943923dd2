// Asks a server one thing with a request that carries no event. The request follows the rules of all others: certificates, redirects, time
// limits, and what is never shown.

public import PluginKit

/// What came of a request without events.
public enum Asked: Sendable {
    /// There is a whole answer to a request that was sent whole. The outcome is the one by its status.
    case answered(Reply, standard: Outcome)
    /// There is no such answer, for this reason.
    case unanswered(Outcome)
    /// There was nothing within the time.
    case late
}

extension HTTPClient {
    /// Sends a request to a target, or to another place at its origin, and waits for at most that many milliseconds. The request then goes
    /// on until the client is closed.
    public func ask(_ target: Int, at place: Place? = nil, _ body: [UInt8], within milliseconds: Int) -> Asked {
        let found = Monitor<Asked?>(nil)
        let request = SingleRequest(target: target, place: place, body: body)
        let delivery = Delivery(withoutEvents: { outcome in
            found.withLock { $0 = request.reply.map { .answered($0, standard: outcome) } ?? .unanswered(outcome) }
            found.wake()
        })
        send(request, of: delivery)
        let until = Clock.system.now() + .milliseconds(max(0, milliseconds))
        return found.waitUntilReady { found in
            if let found { return .ready(found) }
            return Clock.system.now() >= until ? .ready(.late) : .notBefore(until)
        }
    }

    /// Sends a request to a target and returns what the answer says. `judge` gets a whole answer to a request that was sent whole; if it
    /// returns nil, the answer counts by its status.
    public func probe(
        _ target: Int, _ body: [UInt8], within milliseconds: Int, judge: @escaping @Sendable (Reply) -> Probe?
    ) -> Probe {
        // Without the library nothing was asked, so nothing was refused.
        if let fault = loadLibrary() { return .failed(fault) }
        return switch ask(target, body, within: milliseconds) {
        case .answered(let reply, let outcome): judge(reply)?.shown(shown) ?? Probe(by: outcome, at: origin(of: target))
        case .unanswered(let outcome): Probe(by: outcome, at: origin(of: target))
        case .late: .failed("\(origin(of: target)) did not answer within \(milliseconds) ms")
        }
    }
}

/// A request that is the only one of its delivery.
private final class SingleRequest: Requests, @unchecked Sendable {
    private let index: Int
    private let place: Place?
    private let bytes: UnsafeMutableRawBufferPointer
    private let found = Monitor<Reply?>(nil)

    init(target: Int, place: Place?, body: [UInt8]) {
        index = target
        self.place = place
        bytes = .allocate(byteCount: body.count, alignment: 1)
        bytes.copyBytes(from: body)
    }

    deinit { bytes.deallocate() }

    /// The whole answer, if there was one.
    var reply: Reply? { found.withLock { $0 } }

    var count: Int { 1 }
    func target(of index: Int) -> Int { self.index }
    func place(of index: Int) -> Place? { place }
    func body(_ index: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(bytes) }

    func outcome(of reply: Reply, to index: Int, standard: Outcome) -> Outcome {
        found.withLock { $0 = reply }
        return standard
    }
}

extension Probe {
    /// The same finding with its words changed.
    fileprivate func shown(_ shown: (String) -> String) -> Probe {
        switch self {
        case .accepted(let words): .accepted(shown(words))
        case .refused(let code, let words): .refused(code: code, shown(words))
        case .reached(let code, let words): .reached(code: code, shown(words))
        case .failed(let code, let words): .failed(code: code, shown(words))
        }
    }

    /// What an outcome says if nobody judged the answer.
    fileprivate init(by outcome: Outcome, at origin: String) {
        switch outcome {
        case .delivered: self = .accepted("\(origin) accepts the credentials")
        case .fault(let code, let words): self = .refused(code: code, words)
        // A request that the server cannot read says nothing about the credentials.
        case .rejected(let code, let words): self = .reached(code: code, words)
        case .retry(let code, let words, _), .unknown(let code, let words): self = .failed(code: code, words)
        case .closed(let words): self = .failed(words)
        case .untried: self = .failed("nothing was sent to \(origin)")
        case .mixed(let rest, _): self.init(by: rest, at: origin)
        }
    }
}
