// Asks an isolated module what it would send, and whether its destination accepts the credentials. A process that gives no answer in time
// is ended.

internal import Delivery
public import Plans
internal import Platform
internal import Queueing

extension IsolatedInstance: Inquirable {
    /// The time in which a module must say what it would send.
    private static let mostPreview = Duration.seconds(30)

    public func preview(_ batch: any BorrowedBatch) throws(ModuleFault) -> WirePreview? {
        let answer: Result<WirePreview?, ModuleFault> = ask(
            about: batch.count, within: Self.mostPreview, { .preview($0) },
            sending: { channel, token in
                var head = FrameBody()
                head.put(token)
                head.put(UInt32(1))
                head.put(UInt32(clamping: batch.count))
                let bytes = head.bytes
                // If this fails, the process is gone, and the thread that listens to it ends the question.
                bytes.withUnsafeBytes { head in
                    try? channel.send(
                        .preview, [head, UnsafeRawBufferPointer(batch.ends), UnsafeRawBufferPointer(batch.arrivals), batch.bytes])
                }
            })
        return try answer.get()
    }

    public func probe(within time: Duration) -> ProbeFinding? {
        // The process itself waits a second for a module that does not return.
        let answer: Result<ProbeFinding?, ModuleFault> = ask(
            about: 0, within: time + .seconds(2), { .finding($0) },
            sending: { channel, token in
                var body = FrameBody()
                body.put(token)
                body.put(UInt64(clamping: time.nanoseconds / 1_000_000))
                try? channel.send(.probe, body)
            })
        switch answer {
        case .success(let finding): return finding
        case .failure(let fault): return ProbeFinding(.failed, fault.description)
        }
    }

    private func ask<A: Sendable>(
        about count: Int, within time: Duration, _ expected: (@escaping @Sendable (A?) -> Void) -> Expected,
        sending send: (Channel, UInt64) -> Void
    ) -> Result<A?, ModuleFault> {
        let answer = Monitor<Result<A?, ModuleFault>?>(nil)
        let put: @Sendable (Result<A?, ModuleFault>) -> Void = { result in
            answer.withLock { if $0 == nil { $0 = result } }
            answer.wake()
        }
        let ended: @Sendable (BatchOutcome) -> Void = { put(.failure(ModuleFault($0.reason))) }
        if let child = ready(ended) {
            let pending = Pending(count: count, due: nil, done: ended, expected: expected { put(.success($0)) })
            if let token = begin(pending, with: child) {
                send(child.channel, token)
                let until = clock.now() + time
                let isAnswered: Bool = answer.waitUntilReady { answer in
                    if answer != nil { return .ready(true) }
                    return clock.now() >= until ? .ready(false) : .notBefore(until)
                }
                if !isAnswered {
                    put(.failure(ModuleFault("the process of the module \(module.name) gave no answer within \(time.configured)")))
                    end(child)
                }
            }
        }
        return answer.withLock { $0! }
    }
}

extension BatchOutcome {
    /// Why what was asked has no answer.
    fileprivate var reason: String {
        switch batch {
        case .rejected(let answer), .retry(let answer, _), .unknown(let answer), .fault(let answer), .closed(let answer): answer.message
        case .delivered, .untried, .filtered: "it gave no answer"
        }
    }
}
