// A request for messages, and what the server says about it, as values. One request is open at a time. The server answers it with messages,
// and with a status when it ends or when nothing has come for a while.

internal import PluginKit

struct PullRequest: Sendable {
    /// How long the server keeps a request open, and how often it says that the request is still open.
    private static let time = 30_000_000_000
    private static let sign = 5_000_000_000

    let number: UInt64
    let messages: Int
    let bytes: Int
    private let time: Int
    private let sign: Int
    private let began: Instant
    var received = 0
    /// When the last message or status came.
    var heard: Instant

    init(number: UInt64, _ consumer: ConsumerInfo, bytes: Int, now: Instant) {
        self.number = number
        messages = consumer.mostMessages > 0 ? min(consumer.mostMessages, 5_000) : 5_000
        self.bytes = consumer.mostBytes > 0 ? min(consumer.mostBytes, bytes) : bytes
        time = consumer.mostTime > 0 ? min(consumer.mostTime, PullRequest.time) : PullRequest.time
        sign = min(PullRequest.sign, time / 4)
        (began, heard) = (now, now)
    }

    var body: String { #"{"batch":\#(messages),"max_bytes":\#(bytes),"expires":\#(time),"idle_heartbeat":\#(sign)}"# }

    /// Before that time an end without a message is no end by time.
    var earliestEnd: Instant { began + .nanoseconds(Int64(time / 2)) }

    /// When the request counts as lost, if nothing more comes.
    var end: Instant { heard + .nanoseconds(Int64(3 * sign)) }
}

/// What a status means for the request.
enum PullStatus: Sendable, Equatable {
    /// It is still open.
    case open
    /// It has ended, and the next one can follow.
    case over
    /// The next message has more bytes than the request allowed.
    case tooLarge
    /// The consumer must be looked up again.
    case broken(String)

    init(_ status: Int, _ words: String) {
        switch (status, words.lowercased()) {
        case (100, _): self = .open
        case (404, _), (408, _): self = .over
        case (409, let words) where holds(words, "exceeds maxbytes"): self = .tooLarge
        case (409, let words) where holds(words, "batch completed"): self = .over
        case (503, _): self = .broken("nobody answers for the consumer")
        default: self = .broken("JetStream: \(status) \(printable(String(words.prefix(200))))")
        }
    }
}
