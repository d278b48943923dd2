// A stream with a pull consumer on the server of FakeNATS. It gives messages out again only when a test says so.

import Glibc
import HTTPSupport
import PluginKit

@testable import NATS

final class FakeJetStream: Sendable {
    static let consumer =
        #"{"durable_name":"router","ack_policy":"explicit","ack_wait":30000000000,"max_deliver":-1,"max_ack_pending":1000}"#

    struct State: Sendable {
        var messages: [(subject: String, data: String)] = []
        var streamCreated: String? = "s1"
        /// The configuration of the consumer, and when it was made.
        var config: String?
        var created = 1
        /// The sequences that are to be given out next, those that are given out, and how many times.
        var next: [Int] = []
        var given: Set<Int> = []
        var deliveries: [Int: Int] = [:]
        /// What clients have sent to the replies of messages.
        var acknowledged: [Int] = []
        var rejected: [Int] = []
        var inWork: [Int] = []
        /// The bodies of the requests to make a consumer, and for messages.
        var made: [String] = []
        var pulls: [String] = []
        var looks = 0
        var open: (reply: String, left: Int)?
        /// What a request for messages is answered with instead of messages, once.
        var status: String?
        /// The most messages that are given out.
        var most = Int.max
    }

    let state = Monitor(State())
    private let session = Monitor<FakeNATS.Session?>(nil)
    private let own = Monitor<FakeNATS?>(nil)
    private let giving = Monitor(())

    var server: FakeNATS { own.withLock { $0! } }
    var now: State { state.withLock { $0 } }

    init(consumer: String? = FakeJetStream.consumer, info: String = FakeNATS.info, _ messages: [String] = []) {
        state.withLock { $0.config = consumer }
        own.withLock { $0 = FakeNATS(info: info) { [weak self] in self?.take($0, $1) } }
        add(messages)
    }

    func wait(_ condition: @Sendable (State) -> Bool) { state.wait(while: { !condition($0) }) }

    func close() {
        server.close()
        session.withLock { $0 = nil }
    }

    /// Adds messages to the stream.
    func add(_ messages: [String]) {
        state.withLock { state in
            for message in messages {
                state.messages.append(("events.a", message))
                state.next.append(state.messages.count)
            }
        }
        give()
    }

    /// Gives out again what was not acknowledged.
    func redeliver() {
        state.withLock { state in
            state.next = state.given.sorted() + state.next
            state.given = []
        }
        give()
    }

    /// Removes the consumer. A request that is open ends.
    func removeConsumer() {
        state.withLock { $0.config = nil }
        say("409 Consumer Deleted")
    }

    /// Ends the connection, and the request that was open on it.
    func dropConnection() {
        state.withLock { $0.open = nil }
        if let socket = session.withLock({ $0 })?.connection.socket { shutdown(socket, Int32(SHUT_RDWR)) }
    }
    func sendLine(_ line: String) { session.withLock { $0 }?.send(line + "\r\n") }

    /// Says a status to the request that is open. Every status but 100 ends it.
    func say(_ status: String) {
        let reply = state.withLock { state in
            defer { if !status.hasPrefix("100") { state.open = nil } }
            return state.open?.reply
        }
        if let reply { say(status, to: reply) }
    }

    private func say(_ status: String, to reply: String) {
        guard let session = session.withLock({ $0 }) else { return }
        let head = "NATS/1.0 \(status)\r\n\r\n"
        session.send("HMSG \(reply) \(session.subscription(of: reply)) \(head.utf8.count) \(head.utf8.count)\r\n\(head)\r\n")
    }

    // MARK: - What clients send

    private func take(_ message: FakeNATS.Message, _ session: FakeNATS.Session) {
        self.session.withLock { $0 = session }
        switch message.subject {
        case "$JS.API.STREAM.INFO.EVENTS":
            session.answer(message, now.streamCreated.map { #"{"created":"\#($0)"}"# } ?? FakeJetStream.error(10059))
        case "$JS.API.CONSUMER.INFO.EVENTS.router":
            state.withLock { $0.looks += 1 }
            session.answer(message, info())
        case "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.router":
            make(message.data)
            session.answer(message, info())
        case "$JS.API.CONSUMER.MSG.NEXT.EVENTS.router": pull(message)
        case let subject where subject.hasPrefix("$JS.ACK."): acknowledge(subject, message.data)
        default: break
        }
        state.wake()
    }

    static func error(_ number: Int) -> String {
        #"{"error":{"code":404,"err_code":\#(number),"description":"not found"}}"#
    }

    private func info() -> String {
        state.withLock { state in
            guard state.streamCreated != nil else { return FakeJetStream.error(10059) }
            guard let config = state.config else { return FakeJetStream.error(10014) }
            var floor = 0
            while state.acknowledged.contains(floor + 1) { floor += 1 }
            return #"{"created":"c\#(state.created)","config":\#(config),"num_pending":\#(state.next.count),"#
                + #""ack_floor":{"stream_seq":\#(floor)}}"#
        }
    }

    private func make(_ body: String) {
        state.withLock { state in
            state.made.append(body)
            state.created += 1
            let config = (try? Settings(json: body))?.get("config", as: Settings.self)
            let first: Int = config?.get("opt_start_seq") ?? 1
            state.config = FakeJetStream.consumer
            (state.given, state.deliveries) = ([], [:])
            state.next = Array(first..<max(first, state.messages.count + 1))
        }
    }

    private func pull(_ message: FakeNATS.Message) {
        let status = state.withLock { state in
            state.pulls.append(message.data)
            state.open = (message.reply, (try? Settings(json: message.data))?.get("batch") ?? 1)
            defer { state.status = nil }
            return state.status
        }
        if let status { say(status) } else { give() }
    }

    func give() {
        // Messages go out in their order, whichever thread sends them.
        giving.withLock { _ in
            while let (text, reply) = nextMessage() {
                guard let session = session.withLock({ $0 }) else { return }
                let sid = session.subscription(of: reply.inbox)
                session.send("MSG events.a \(sid) \(reply.text) \(text.utf8.count)\r\n\(text)\r\n")
            }
        }
        state.wake()
    }

    private func nextMessage() -> (text: String, reply: (inbox: String, text: String))? {
        state.withLock { state in
            guard let open = state.open, !state.next.isEmpty, state.given.count < state.most else { return nil }
            let sequence = state.next.removeFirst()
            state.given.insert(sequence)
            state.deliveries[sequence, default: 0] += 1
            state.open = open.left > 1 ? (open.reply, open.left - 1) : nil
            let time = 1_000_000_000 * sequence
            let reply = "$JS.ACK.EVENTS.router.\(state.deliveries[sequence]!).\(sequence).\(sequence).\(time).\(state.next.count)"
            return (state.messages[sequence - 1].data, (open.reply, reply))
        }
    }

    private func acknowledge(_ subject: String, _ kind: String) {
        guard let sequence = Int(subject.split(separator: ".")[5]) else { return }
        state.withLock { state in
            switch kind {
            case "+ACK":
                state.acknowledged.append(sequence)
                state.given.remove(sequence)
            case "-NAK":
                state.rejected.append(sequence)
                state.given.remove(sequence)
                state.next.append(sequence)
            default: state.inWork.append(sequence)
            }
        }
    }
}

/// A router that keeps what a source hands over.
final class FakeRouter: Sendable {
    struct State: Sendable {
        var lines: [String] = []
        var numbers: [Int64] = []
        var tokens: [UInt64] = []
        var origins: Set<String> = []
        var verdict = Handover.taken
        var refusals = 0
        var states: [String] = []
        var log: [String] = []
        var behind: [String] = []
    }

    let state = Monitor(State())
    var now: State { state.withLock { $0 } }

    func wait(_ condition: @Sendable (State) -> Bool) { state.wait(while: { !condition($0) }) }

    func host(mostLine: Int = 100) -> SourceHost {
        SourceHost(
            mostLine: mostLine, log: { level, line in self.change { $0.log.append("\(level): \(line)") } },
            submit: { block in
                self.change { state in
                    guard state.verdict == .taken else {
                        state.refusals += 1
                        return state.verdict
                    }
                    let lines = block.bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
                    state.lines += lines.map { String(decoding: $0, as: UTF8.self) }
                    state.numbers += block.numbers
                    state.tokens.append(block.token)
                    state.origins.insert(block.origin)
                    return .taken
                }
            },
            behind: { events, milliseconds in
                self.change { $0.behind.append("\(events.map(String.init) ?? "-") \(milliseconds.map(String.init) ?? "-")") }
            },
            state: { kind, words in self.change { $0.states.append("\(kind): \(words)") } })
    }

    private func change<R>(_ body: (inout State) -> R) -> R {
        defer { state.wake() }
        return state.withLock { body(&$0) }
    }
}

extension NATSSource {
    convenience init(
        _ jetStream: FakeJetStream, _ router: FakeRouter, clock: Clock = .system, mostLine: Int = 100, _ more: String = ""
    ) throws {
        let settings =
            #"{"servers":"\#(jetStream.server.address)","stream":"EVENTS","consumer":"router"\#(more.isEmpty ? "" : ", " + more)}"#
        try self.init(settings: Settings(json: settings), host: router.host(mostLine: mostLine), clock: clock, library: .system)
    }
}
