// What a message or a status of the server changes in the state of a reader, under its lock.

internal import PluginKit

extension StreamReader.State {
    /// How long a block waits for more messages that the server has.
    private static let fill = Duration.milliseconds(50)
    /// The most bytes that a request for messages allows.
    private static let mostBytes = 1 << 30

    /// Notes a message that is held now. Returns true if the thread has something to do.
    mutating func note(_ message: DeliveredMessage, _ now: Instant) -> Bool {
        (hasHeard, hasMore) = (true, message.pending > 0)
        if message.deliveries == 1 { lastTime = message.identity.time }
        pull?.heard = now
        pull?.received += 1
        if let open = pull, open.received >= open.messages { pull = nil }
        guard held.hasWaiting else { return pull == nil }
        // More messages follow at once, so the block can grow.
        if message.pending > 0, pull != nil, !held.hasFull {
            guard handOverAt == nil else { return false }
            handOverAt = now + StreamReader.State.fill
            return true
        }
        handOverAt = now
        return true
    }

    /// Notes an answer. Returns true if the thread has something to do.
    mutating func note(_ answer: ConnectionMessage, _ now: Instant) -> Bool {
        let token = String(decoding: answer.token, as: UTF8.self)
        if token == "i" {
            if answer.status == 0 { answers.append(String(decoding: answer.data, as: UTF8.self)) }
            return true
        }
        guard let open = pull, token == "p\(open.number)", answer.status != 0 else { return false }
        let status = PullStatus(answer.status, answer.words)
        if case .open = status {
            pull?.heard = now
            hasHeard = true
            return false
        }
        pull = nil
        if held.hasWaiting { handOverAt = now }
        switch status {
        case .open: break
        case .over:
            // A server that ends each request at once must not be asked at once again.
            if open.received == 0, now < open.earliestEnd { fail("the server ended a request for messages at once") }
        case .tooLarge: if open.received == 0 { enlarge(open) }
        case .broken(let words): fail(words)
        }
        return true
    }

    /// The next message does not fit into a request.
    private mutating func enlarge(_ open: PullRequest) {
        guard open.bytes == pullBytes else {
            return fail("a message is larger than max_bytes of the consumer (\(open.bytes)), so it never comes; raise max_bytes", true)
        }
        guard pullBytes < StreamReader.State.mostBytes else { return fail("a message is larger than \(pullBytes) bytes", true) }
        pullBytes = min(2 * pullBytes, StreamReader.State.mostBytes)
    }

    private mutating func fail(_ words: String, _ isSetting: Bool = false) {
        broken = broken ?? ConnectionFault(words: words, isSetting: isSetting)
    }
}
