// Mixpanel's /import, /engage and /groups as its documentation describes them: events that break a rule are named by their index in an
// answer of 400, and all others are kept.

import Foundation
import HTTPSupport
import PluginKit

final class FakeMixpanel: Sendable {
    private struct State {
        var events: [String: String] = [:]
        var profiles: [String] = []
        var failed = 0
    }
    private let state = Monitor(State())
    /// What a client must send as its credentials.
    let credentials: String

    init(credentials: String) { self.credentials = credentials }

    /// The names of the kept events by their ids.
    var events: [String: String] { state.withLock { $0.events } }
    /// The ids of the profiles that were changed.
    var profiles: [String] { state.withLock { $0.profiles } }
    var failed: Int { state.withLock { $0.failed } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard let list = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [[String: Any]], !list.isEmpty,
            list.count <= 2000
        else { return connection.answer("400 Bad Request", #"{"code":400,"error":"no list of events"}"#) }
        guard request.body.count <= 10_000_000 else { return connection.answer("413 Payload Too Large") }
        if request.line.hasPrefix("POST /in/import?strict=1") {
            guard request.headers["authorization"] == credentials else {
                return connection.answer("401 Unauthorized", #"{"code":401,"error":"Invalid credentials"}"#)
            }
            return take(list, connection)
        }
        guard request.headers["content-encoding"] == nil, request.line.contains("strict=1&verbose=1") else {
            return connection.answer("400 Bad Request", "compressed")
        }
        let key = request.line.hasPrefix("POST /in/groups?") ? "$group_id" : "$distinct_id"
        guard list.allSatisfy({ $0["$token"] as? String == "t0k3n" && ($0[key] as? String)?.isEmpty == false }) else {
            return connection.answer("200 OK", #"{"status":0,"error":"$distinct_id, missing or empty"}"#)
        }
        state.withLock { $0.profiles += list.compactMap { $0[key] as? String } }
        connection.answer("200 OK", #"{"status":1,"error":null}"#)
    }

    private func take(_ list: [[String: Any]], _ connection: Server.Connection) {
        var failed: [String] = []
        for (index, event) in list.enumerated() {
            if let field = FakeMixpanel.fault(event) {
                failed.append(#"{"index":\#(index),"$insert_id":"x","field":"\#(field)","message":"is invalid"}"#)
                continue
            }
            let properties = event["properties"] as? [String: Any]
            state.withLock { $0.events[properties?["$insert_id"] as? String ?? ""] = event["event"] as? String }
        }
        let imported = list.count - failed.count
        if failed.isEmpty { return connection.answer("200 OK", #"{"code":200,"num_records_imported":\#(imported),"status":"OK"}"#) }
        state.withLock { $0.failed += failed.count }
        connection.answer(
            "400 Bad Request",
            #"{"code":400,"error":"some data points in the request failed validation","failed_records":[\#(failed.joined(separator: ","))],"#
                + #""num_records_imported":\#(imported),"status":"Bad Request"}"#)
    }

    /// Returns the field that breaks a rule, or nil.
    private static func fault(_ event: [String: Any]) -> String? {
        guard let name = event["event"] as? String, !name.isEmpty, name.count <= 255 else { return "event" }
        guard let properties = event["properties"] as? [String: Any], properties.count < 255 else { return "properties" }
        guard let time = properties["time"] as? Int, time >= 31_536_000_000 else { return "properties.time" }
        guard let person = properties["distinct_id"] as? String, person.count <= 255,
            !["null", "anonymous", "0", "true", "undefined"].contains(person)
        else { return "properties.distinct_id" }
        guard let id = properties["$insert_id"] as? String, !id.isEmpty, id.utf8.count <= 36,
            id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
        else { return "properties.$insert_id" }
        guard properties["ip"] as? Int == 0 || properties["ip"] is String else { return "properties.ip" }
        return properties.values.allSatisfy({ depth($0) <= 3 }) ? nil : "properties"
    }

    private static func depth(_ value: Any) -> Int {
        if let object = value as? [String: Any] { return 1 + (object.values.map(depth).max() ?? 0) }
        if let list = value as? [Any] { return list.map(depth).max() ?? 0 }
        return 0
    }
}
