// A server of OTLP as the specification describes it. It rejects records of the name "bad", and does not say which ones.

import HTTPSupport
import PluginKit

final class FakeCollector: Sendable {
    private struct State {
        var kept: [Record] = []
        var malformed: [String] = []
    }
    private let state = Monitor(State())
    let isJSON: Bool

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// The records that it has taken, also those that came twice.
    var kept: [Record] { state.withLock { $0.kept } }
    /// Why bodies were refused.
    var malformed: [String] { state.withLock { $0.malformed } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        let type = isJSON ? "application/json" : "application/x-protobuf"
        guard request.line.hasPrefix("POST /in/v1/logs ") else { return connection.answer("404 Not Found") }
        guard request.headers["content-type"] == type else { return connection.answer("415 Unsupported Media Type") }
        guard request.body.count <= 20 << 20 else { return connection.answer("413 Payload Too Large") }
        do {
            let records = try FakeCollector.records(request.body, isJSON: isJSON)
            let good = records.filter { $0.name != "bad" }
            state.withLock { $0.kept += good }
            let rejected = records.count - good.count
            connection.answer("200 OK", FakeCollector.success(rejected, isJSON: isJSON), headers: "Content-Type: \(type)\r\n")
        } catch {
            state.withLock { $0.malformed.append("\(error)") }
            connection.answer("400 Bad Request", FakeCollector.status("malformed: \(error)", isJSON: isJSON))
        }
    }

    static func records(_ body: [UInt8], isJSON: Bool) throws -> [Record] {
        try isJSON ? LogJSON.records(body) : LogProtobuf.records(body)
    }

    /// Fewer than 128 records and bytes of words, so that each length is one byte.
    static func success(_ rejected: Int, words: String = "no bad ones", isJSON: Bool) -> String {
        if isJSON { return rejected == 0 ? "{}" : #"{"partialSuccess":{"rejectedLogRecords":"\#(rejected)","errorMessage":"\#(words)"}}"# }
        if rejected == 0 { return "" }
        let partial = bytes([1 << 3, UInt8(rejected), 2 << 3 | 2, UInt8(words.utf8.count)]) + words
        return bytes([1 << 3 | 2, UInt8(partial.utf8.count)]) + partial
    }

    static func status(_ words: String, isJSON: Bool) -> String {
        let words = String(words.prefix(100))
        return isJSON
            ? #"{"code":3,"message":"\#(words.replacing("\"", with: "'"))"}"#
            : bytes([1 << 3, 3, 2 << 3 | 2, UInt8(words.utf8.count)]) + words
    }

    private static func bytes(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
