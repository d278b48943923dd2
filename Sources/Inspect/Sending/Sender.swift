// Sends the batches of an input one after the other, and repeats each until there is an answer. An event counts as taken only when an
// answer says so. A request without an answer is sent again with the same bytes. A rejected event does not affect other events.

public import Platform

/// Why sending stopped before the end of its input.
public struct SendFault: Error, Equatable {
    public var message: String
    public init(message: String) { self.message = message }
}

public final class Sender {
    public struct Retries: Sendable {
        /// The first wait before a request is sent again. It doubles with each attempt, up to `most`.
        public var first = Duration.milliseconds(500)
        public var most = Duration.seconds(30)
        /// How long a request is retried.
        public var total = Duration.seconds(300)
        public init() {}
    }

    public struct Counts: Equatable, Sendable {
        public var taken = 0
        public var rejected = 0
        public var bytes = 0
        public init() {}
    }

    /// The functions that a sender needs from outside.
    public struct Dependencies {
        public var clock: Clock
        public var wait: (Duration) -> Void
        /// Returns a random number below the given one.
        public var chance: (Int64) -> Int64
        /// Shows a line to a person.
        public var say: (String) -> Void
        public init(clock: Clock, wait: @escaping (Duration) -> Void, chance: @escaping (Int64) -> Int64, say: @escaping (String) -> Void) {
            self.clock = clock
            self.wait = wait
            self.chance = chance
            self.say = say
        }
    }

    private let target: String
    private let transport: any Transport
    private let retries: Retries
    private let dependencies: Dependencies
    public private(set) var counts = Counts()

    public init(to target: String, by transport: any Transport, retries: Retries = Retries(), _ dependencies: Dependencies) {
        self.target = target
        self.transport = transport
        self.retries = retries
        self.dependencies = dependencies
    }

    /// Sends a whole input. After each answer it calls `taken` with the end and the line of the last event that the answer covers.
    public func send(_ input: LineBatches, named name: String, taken: (_ offset: Int, _ line: Int) throws -> Void) throws {
        var batch = LineBatch()
        while true {
            do throws(SystemFault) {
                guard try input.next(&batch) else { return }
            } catch {
                throw SendFault(message: "\(name): cannot be read: \(error)")
            }
            for line in batch.overlong { reject(name, line: line, words: "the line is too long") }
            // The parts that are still to be sent. The next one is at the end. A part that is too large is replaced by its halves.
            var parts = batch.ends.isEmpty ? [] : [batch.ends.indices]
            while let part = parts.popLast() {
                guard try post(batch, events: part, name: name) else {
                    let middle = (part.lowerBound + part.upperBound) / 2
                    assert(part.lowerBound < middle && middle < part.upperBound, "half of a request is empty")
                    parts += [middle..<part.upperBound, part.lowerBound..<middle]
                    continue
                }
                counts.bytes += batch.ends[part.upperBound - 1].at - batch.start(part.lowerBound)
                try taken(batch.ends[part.upperBound - 1].offset, batch.ends[part.upperBound - 1].line)
            }
        }
    }

    /// Sends a part of a batch. Returns false if it is too large for one request.
    private func post(_ batch: LineBatch, events: Range<Int>, name: String) throws -> Bool {
        switch try answer(batch, events) {
        case .taken(let rejected):
            assert(rejected.allSatisfy { (0..<events.count).contains($0.event) }, "an event was rejected that was not sent")
            counts.taken += events.count - rejected.count
            for rejection in rejected { reject(name, line: batch.ends[events.lowerBound + rejection.event].line, words: rejection.message) }
            return true
        case .tooLarge(let words):
            guard events.count == 1 else { return false }
            reject(name, line: batch.ends[events.lowerBound].line, words: "\(target) answers \(words)")
            return true
        case .refused(let words): throw SendFault(message: "\(target) \(words)")
        case .later: preconditionFailure("answer(_:_:) never returns .later")
        }
    }

    private func reject(_ name: String, line: Int, words: String) {
        counts.rejected += 1
        dependencies.say("\(name):\(line): rejected: \(words)")
    }

    /// Sends the events until there is an answer that does not ask to send them again later.
    private func answer(_ batch: LineBatch, _ events: Range<Int>) throws(SendFault) -> Judgement {
        let body = batch.start(events.lowerBound)..<batch.ends[events.upperBound - 1].at
        assert(!body.isEmpty && body.upperBound <= batch.bytes.count, "a request has no events, or events that were not read")
        let deadline = dependencies.clock.now() + retries.total
        var attempt = 1
        while true {
            let words: String
            var wait = backoff(attempt)
            switch post(batch.bytes, body) {
            case .success(let answer):
                let judgement = answer.judgement(of: events.count)
                guard case .later(let why, let seconds) = judgement else { return judgement }
                words = why
                if let seconds { wait = max(wait, .seconds(seconds)) }
            case .failure(let fault):
                guard fault.canPass else { throw SendFault(message: "\(target) \(fault.message)") }
                words = fault.message
            }
            guard dependencies.clock.now() + wait <= deadline else {
                throw SendFault(message: "\(target) \(words); given up after \(attempt) \(attempt == 1 ? "attempt" : "attempts")")
            }
            if attempt == 1 { dependencies.say("\(target) \(words); trying again for up to \(retries.total.components.seconds) s") }
            dependencies.wait(wait)
            attempt += 1
        }
    }

    private func post(_ bytes: [UInt8], _ range: Range<Int>) -> Result<Answer, TransportFault> {
        bytes.withUnsafeBytes { bytes in
            Result { () throws(TransportFault) in try transport.post(UnsafeRawBufferPointer(rebasing: bytes[range])) }
        }
    }

    /// Returns the wait before the next attempt. Half of it is random, so that clients that were refused together do not return together.
    private func backoff(_ attempt: Int) -> Duration {
        let first = max(2, retries.first.nanoseconds)
        let doublings = min(attempt - 1, 40)
        let full = min(first > Int64.max >> Int64(doublings) ? .max : first << Int64(doublings), max(2, retries.most.nanoseconds))
        assert(full >= 2, "a wait has no random part")
        return .nanoseconds(full / 2 + dependencies.chance(full / 2))
    }
}
