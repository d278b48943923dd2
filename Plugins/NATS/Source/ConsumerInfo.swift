// What the server says of a consumer, and whether a source can use one that is like this. It promises that a source never uses a consumer
// that could lose a message in silence. Pure: an answer in, values and faults out.

internal import PluginKit

/// An error of JetStream, or an answer that cannot be read.
struct JetStreamError: Error {
    /// Its own number of the error, or 0.
    let number: Int
    let code: Int
    let words: String

    static let noConsumer = 10014
    static let noStream = 10059

    /// True if the error stays until a person has changed something.
    var isSetting: Bool {
        switch number {
        // JetStream is not enabled, or not for the account.
        case 10039, 10076: true
        // JetStream is not ready yet.
        case 10008: false
        default: 400..<500 ~= code
        }
    }

    init(unreadable what: String) { (number, code, words) = (0, 0, "the answer about \(what) cannot be read") }

    init(_ error: Settings) {
        number = error.get("err_code") ?? 0
        code = error.get("code") ?? 0
        let words: String = error.get("description") ?? "no description"
        self.words = "JetStream: \(printable(String(words.prefix(200))))"
    }
}

struct ConsumerInfo: Sendable {
    /// When the consumer was made. Another time means another consumer.
    let created: String
    /// The messages that the consumer has not given out yet.
    let pending: UInt64
    /// All messages up to this sequence of the stream are acknowledged.
    let acknowledged: UInt64
    /// In nanoseconds.
    let ackWait: Int
    /// The limits of a request for messages. A limit of 0 is none; the time is in nanoseconds.
    let mostMessages: Int
    let mostBytes: Int
    let mostTime: Int
    private let config: Settings

    init(_ answer: String) throws(JetStreamError) {
        guard let answer = try? Settings(json: answer) else { throw JetStreamError(unreadable: "the consumer") }
        if let error = answer.get("error", as: Settings.self) { throw JetStreamError(error) }
        guard let created: String = answer.get("created"), let config: Settings = answer.get("config") else {
            throw JetStreamError(unreadable: "the consumer")
        }
        self.created = created
        self.config = config
        pending = UInt64(clamping: answer.get("num_pending", as: Int.self) ?? 0)
        acknowledged = UInt64(clamping: answer.get("ack_floor", as: Settings.self)?.get("stream_seq", as: Int.self) ?? 0)
        let wait: Int = config.get("ack_wait") ?? 0
        ackWait = wait > 0 ? wait : 30_000_000_000
        mostMessages = max(0, config.get("max_batch") ?? 0)
        mostBytes = max(0, config.get("max_bytes") ?? 0)
        mostTime = max(0, config.get("max_expires") ?? 0)
    }

    /// Returns why a source with these rules cannot use the consumer, with the remedy, or nil if it can.
    func fault(for rules: SourceRules) -> String? {
        func words(_ what: String, _ remedy: String) -> String { "the consumer '\(rules.consumer)' \(what); \(remedy)" }
        let other = "name another one, or delete it so that it is made again"
        if let to: String = config.get("deliver_subject"), !to.isEmpty { return words("pushes messages; a pull consumer is needed", other) }
        let policy: String = config.get("ack_policy") ?? "none"
        guard policy == "explicit" else {
            return words("has the ack_policy '\(printable(policy))', and explicit is needed", other)
        }
        guard config.get("durable_name", as: String.self) != nil else { return words("is not durable", other) }
        if config.get("headers_only") ?? false { return words("gives out headers only", other) }
        if config.get("max_deliver") ?? -1 > 0 {
            return words("gives a message out only a limited number of times (max_deliver), and then loses it", "remove max_deliver")
        }
        if config.get("inactive_threshold") ?? 0 > 0 {
            return words("is removed when nobody reads it (inactive_threshold), with its place", "remove inactive_threshold")
        }
        let filters = config.get("filter_subjects", as: [String].self) ?? config.get("filter_subject", as: String.self).map { [$0] } ?? []
        let (has, wanted) = (filters.filter { !$0.isEmpty && $0 != ">" }, [rules.subject].compactMap { $0 }.filter { $0 != ">" })
        guard has == wanted else {
            func shown(_ list: [String]) -> String {
                list.isEmpty ? "all subjects" : list.map { "'\(printable($0))'" }.joined(separator: ", ")
            }
            return words("takes \(shown(has)), and subject wants \(shown(wanted))", "correct one of them")
        }
        return nil
    }
}
