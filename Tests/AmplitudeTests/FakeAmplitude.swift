// Amplitude's upload of events as its documentation describes it: one bad event makes it refuse the whole request, with lists of indices,
// and events of throttled users come back as a list too.

import Foundation
import HTTPSupport
import PluginKit

final class FakeAmplitude: Sendable {
    private struct State {
        /// The types of the kept events by their ids.
        var kept: [String: String] = [:]
        var throttled: Set<String> = []
    }
    private let state = Monitor(State())

    var kept: [String: String] { state.withLock { $0.kept } }
    func throttle(_ users: Set<String>) { state.withLock { $0.throttled = users } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard request.line.hasPrefix("POST /in/2/httpapi ") || request.line.hasPrefix("POST /in/batch ") else {
            return connection.answer("404 Not Found")
        }
        guard request.body.count < 1_000_000 || request.line.contains("/batch") else { return connection.answer("413 Payload Too Large") }
        guard let body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any],
            let events = body["events"] as? [[String: Any]], !events.isEmpty
        else { return connection.answer("400 Bad Request", #"{"code":400,"error":"Invalid JSON request body"}"#) }
        guard body["api_key"] as? String == "am-test" else {
            return connection.answer("400 Bad Request", #"{"code":400,"error":"Invalid API key: \#(body["api_key"] ?? "")"}"#)
        }
        let shortest = (body["options"] as? [String: Any])?["min_id_length"] as? Int ?? 5
        var faults: [String: [Int]] = [:]
        for (index, event) in events.enumerated() {
            if let field = FakeAmplitude.fault(event, shortest) { faults[field, default: []].append(index) }
        }
        guard faults.isEmpty else {
            let fields = faults.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",")
            return connection.answer("400 Bad Request", #"{"code":400,"error":"bad","events_with_invalid_fields":{\#(fields)}}"#)
        }
        let throttled = state.withLock { state in events.indices.filter { state.throttled.contains(events[$0]["user_id"] as? String ?? "") }
        }
        guard throttled.isEmpty else {
            return connection.answer(
                "429 Too Many", #"{"code":429,"error":"Too many requests","eps_threshold":30,"throttled_events":\#(throttled)}"#)
        }
        state.withLock { state in
            for event in events { state.kept[event["insert_id"] as? String ?? ""] = event["event_type"] as? String }
        }
        connection.answer("200 OK", #"{"code":200,"events_ingested":\#(events.count),"payload_size_bytes":1,"server_upload_time":1}"#)
    }

    /// Returns the field that breaks a rule, or nil.
    private static func fault(_ event: [String: Any], _ shortest: Int) -> String? {
        guard let type = event["event_type"] as? String, !type.isEmpty, type.count <= 1024 else { return "event_type" }
        let (user, device) = (event["user_id"], event["device_id"])
        guard user != nil || device != nil else { return "user_id" }
        for id in [user, device] where id != nil {
            guard let text = id as? String, text.count >= shortest, text.lowercased() != "anonymous" else { return "user_id" }
        }
        guard let time = event["time"] as? Int, time >= 31_536_000_000 else { return "time" }
        for key in ["ip", "os_name", "os_version", "platform", "language", "carrier"] where event[key] != nil && !(event[key] is String) {
            return key
        }
        for key in ["event_properties", "user_properties", "groups", "group_properties"] {
            if let value = event[key], !(value is [String: Any]) { return key }
        }
        return event["session_id"].map { $0 is Int } ?? true ? nil : "session_id"
    }
}
