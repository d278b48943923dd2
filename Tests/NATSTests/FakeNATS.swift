// A server in this process that speaks the protocol of NATS as a test scripts it, correct or hostile.

import Glibc
import HTTPSupport
import PluginKit

@testable import NATS

final class FakeNATS: Sendable {
    /// A message that a client has published.
    struct Message: Sendable {
        var subject: String
        var reply: String
        var headers: String
        var data: String
    }

    /// One connection of a client.
    final class Session: Sendable {
        let connection: Server.Connection
        private let subscriptions = Monitor<[(subject: String, id: String)]>([])
        let number: Int

        init(_ connection: Server.Connection) {
            self.connection = connection
            number = connection.number
        }

        func send(_ text: String) { connection.send(text) }
        func subscribe(_ subject: String, _ id: String) { subscriptions.withLock { $0.append((subject, id)) } }

        /// The number of the subscription that takes this subject. A subscription that ends with a wildcard takes all that begin like it.
        func subscription(of subject: String) -> String {
            subscriptions.withLock { list in list.first { subject.hasPrefix($0.subject.prefix { $0 != "*" }) }?.id ?? "1" }
        }

        func answer(_ message: Message, _ data: String) { answer(to: message.reply, data) }

        func answer(to reply: String, _ data: String) {
            send("MSG \(reply) \(subscription(of: reply)) \(data.utf8.count)\r\n\(data)\r\n")
        }

        func acknowledge(_ message: Message) { answer(message, #"{"stream":"EVENTS", "seq":12}"#) }

        func sayNobody(_ message: Message) {
            send("HMSG \(message.reply) \(subscription(of: message.reply)) 16 16\r\nNATS/1.0 503\r\n\r\n\r\n")
        }
    }

    private struct Log {
        var messages: [Message] = []
        var connects: [String] = []
    }

    private let log: Monitor<Log>
    private let server: Server
    static let info = #"{"server_id":"F","version":"2.9.10","headers":true,"max_payload":1048576,"proto":1}"#

    var address: String { "nats://127.0.0.1:\(server.port)" }
    var messages: [Message] { log.withLock { $0.messages } }
    /// What clients have said of themselves.
    var connects: [String] { log.withLock { $0.connects } }
    var connections: Int { server.connections }

    /// `greeting` is sent after the line CONNECT. `take` is called for each message.
    init(
        info: String = FakeNATS.info, greeting: String? = nil,
        _ take: @escaping @Sendable (Message, Session) -> Void = { message, session in session.acknowledge(message) }
    ) {
        let log = Monitor(Log())
        self.log = log
        server = Server { _, connection in
            let session = Session(connection)
            session.send("INFO \(info)\r\n")
            let reader = LineReader(connection.socket)
            while let line = reader.line() {
                let words = line.split(separator: " ").map(String.init)
                switch words.first {
                case "CONNECT":
                    log.withLock { $0.connects.append(String(line.dropFirst(8))) }
                    if let greeting { session.send(greeting) }
                case "PING": session.send("PONG\r\n")
                case "SUB": session.subscribe(words[1], words[words.count - 1])
                case "PUB", "HPUB":
                    let isPlain = words[0] == "PUB"
                    let sizes = words.suffix(isPlain ? 1 : 2).map { Int($0)! }
                    guard let bytes = reader.bytes(sizes.last! + 2) else { return }
                    let headers = isPlain ? 0 : sizes[0]
                    let message = Message(
                        subject: words[1], reply: words.count == (isPlain ? 4 : 5) ? words[2] : "",
                        headers: String(decoding: bytes[..<headers], as: UTF8.self),
                        data: String(decoding: bytes[headers..<sizes.last!], as: UTF8.self))
                    log.withLock { $0.messages.append(message) }
                    log.wake()
                    take(message, session)
                default: break
                }
            }
        }
    }

    func wait(messages count: Int) { log.wait(while: { $0.messages.count < count }) }
    func close() { server.close() }
}

/// Reads lines and counted bytes from a socket.
private final class LineReader {
    private let socket: Int32
    private var pending: [UInt8] = []

    init(_ socket: Int32) { self.socket = socket }

    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        pending += chunk[..<count]
        return true
    }

    func line() -> String? {
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending.removeFirst(end + 1) }
                return String(decoding: pending[..<end].filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
            }
            if !fill() { return nil }
        }
    }

    func bytes(_ count: Int) -> [UInt8]? {
        while pending.count < count { if !fill() { return nil } }
        defer { pending.removeFirst(count) }
        return Array(pending[..<count])
    }
}

extension Instance {
    convenience init(nats settings: String) throws { try self.init(of: export(NATSProvider.self), settings) }

    /// Makes an instance that sends to a server, with long times unless `more` sets them.
    convenience init(_ server: FakeNATS, subject: String = "events.{type}", _ more: String = "") throws {
        let timeout = more.contains("\"timeout\"") ? "" : #", "timeout": {"connect": 600000, "total": 600000}"#
        try self.init(
            nats: #"{"servers": "\#(server.address)", "subject": "\#(subject)"\#(timeout)\#(more.isEmpty ? "" : ", " + more)}"#)
    }
}

/// Returns the message with which settings are refused.
func refusal(_ settings: String) -> String {
    do {
        _ = try Instance(nats: settings)
        return "accepted"
    } catch {
        return "\(error)"
    }
}
