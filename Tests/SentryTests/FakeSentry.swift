// Sentry's envelope endpoint as its documentation and the source of its server describe it. It keeps the events that are in the form that
// Sentry understands, and counts the others, which Sentry would drop or strip while it answers 200.

import Foundation
import HTTPSupport
import PluginKit

final class FakeSentry: Sendable {
    private struct State {
        var kept: [String] = []
        var faults: [String] = []
    }
    private let state = Monitor(State())

    /// The ids of the kept events.
    var kept: [String] { state.withLock { $0.kept } }
    var faults: [String] { state.withLock { $0.faults } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard request.line.hasPrefix("POST /in/api/42/envelope/ ") else { return connection.answer("404 Not Found") }
        guard request.headers["x-sentry-auth"]?.contains("sentry_key=k0123456789") ?? false else {
            return connection.answer("401 Unauthorized", #"{"detail":"missing authorization information"}"#)
        }
        guard request.headers["content-type"] == "application/x-sentry-envelope" else { return connection.answer("400 Bad Request") }
        if let fault = take(request.body) { state.withLock { $0.faults.append(fault) } }
        connection.answer("200 OK", #"{"id":"1"}"#)
    }

    /// Returns why Sentry would not keep an envelope, or would strip it.
    private func take(_ body: [UInt8]) -> String? {
        let lines = body.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        func object(_ bytes: some Sequence<UInt8>) -> [String: Any]? {
            (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
        }
        guard lines.count == 3, let header = object(lines[0]), let item = object(lines[1]) else { return "no envelope" }
        guard item["type"] as? String == "event", let length = item["length"] as? Int, length + 1 == lines[2].count, lines[2].last == 0x0a
        else { return "no item" }
        guard length <= 1 << 20, let event = object(lines[2].dropLast()) else { return "no event" }
        guard let id = event["event_id"] as? String, id == header["event_id"] as? String, id.utf8.count == 32,
            id.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }), id.contains(where: { $0 != "0" })
        else { return "the id" }
        func isText(_ name: String, in object: [String: Any], most: Int = .max) -> Bool {
            object[name] == nil || (object[name] as? String).map { $0.unicodeScalars.count <= most && !$0.isEmpty } ?? false
        }
        guard ["fatal", "error", "warning", "info", "debug"].contains(event["level"] as? String), event["timestamp"] is String,
            event["platform"] is String
        else { return "level, timestamp or platform" }
        for (name, most) in [("logger", 64), ("transaction", 200), ("environment", 64), ("release", 200)]
        where !isText(name, in: event, most: most) { return name }
        if let exception = event["exception"] {
            guard let values = (exception as? [String: Any])?["values"] as? [[String: Any]], !values.isEmpty,
                values.allSatisfy({ $0["type"] is String || $0["value"] is String })
            else { return "exception" }
        }
        guard let user = event["user"] as? [String: Any], ["id", "email", "username", "name"].allSatisfy({ isText($0, in: user) })
        else { return "user" }
        guard let tags = event["tags"] as? [String: Any],
            tags.allSatisfy({ key, value in
                key.count <= 32 && ((value as? String)?.unicodeScalars.count ?? 0) <= 200 && !(value is [Any]) && !(value is [String: Any])
            })
        else { return "tags" }
        guard event["exception"] != nil || event["logentry"] != nil else { return "nothing to show" }
        state.withLock { $0.kept.append(id) }
        return nil
    }
}
