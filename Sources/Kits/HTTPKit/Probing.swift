// Asks a server one thing with a request that carries no event. The request follows the rules of all others: certificates, redirects, time
// limits, and what is never shown.

public import PluginKit

extension HTTPClient {
    /// Sends a request to a target and returns what the answer says. `judge` gets a whole answer to a request that was sent whole; if it
    /// returns nil, the answer counts by its status. It waits for at most that many milliseconds. The request then goes on until the
    /// client is closed.
    public func probe(
        _ target: Int, _ body: [UInt8], within milliseconds: Int, judge: @escaping @Sendable (Reply) -> Probe?
    ) -> Probe {
        let found = Monitor<Probe?>(nil)
        let request = ProbeRequest(target: target, body: body, judge: judge)
        let delivery = Delivery(withoutEvents: { outcome in
            found.withLock { $0 = request.verdict?.shown(self.shown) ?? Probe(by: outcome, at: self.origin(of: target)) }
            found.wake()
        })
        send(request, of: delivery)
        let until = Clock.system.now() + .milliseconds(max(0, milliseconds))
        return found.waitUntilReady { found in
            if let found { return .ready(found) }
            let late = Probe.failed("\(self.origin(of: target)) did not answer within \(milliseconds) ms")
            return Clock.system.now() >= until ? .ready(late) : .notBefore(until)
        }
    }
}

/// The one request of a probe.
private final class ProbeRequest: Requests, @unchecked Sendable {
    private let index: Int
    private let bytes: UnsafeMutableRawBufferPointer
    private let judge: @Sendable (Reply) -> Probe?
    private let found = Monitor<Probe?>(nil)

    init(target: Int, body: [UInt8], judge: @escaping @Sendable (Reply) -> Probe?) {
        index = target
        bytes = .allocate(byteCount: body.count, alignment: 1)
        bytes.copyBytes(from: body)
        self.judge = judge
    }

    deinit { bytes.deallocate() }

    /// What the judge made of the answer.
    var verdict: Probe? { found.withLock { $0 } }

    var count: Int { 1 }
    func target(of index: Int) -> Int { self.index }
    func body(_ index: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(bytes) }

    func outcome(of reply: Reply, to index: Int, standard: Outcome) -> Outcome {
        let verdict = judge(reply)
        found.withLock { $0 = verdict }
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
