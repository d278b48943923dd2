// Braze's /users/track and /users/identify as its documentation describes them: an object that breaks a rule is named by its list and its
// index, and all others are taken.

import Foundation
import HTTPSupport
import PluginKit

final class FakeBraze: Sendable {
    private struct State {
        /// The kept objects, each as "list: who what".
        var kept: [String] = []
    }
    private let state = Monitor(State())

    var kept: [String] { state.withLock { $0.kept } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard request.headers["authorization"] == "Bearer k-test" else {
            return connection.answer("401 Unauthorized", #"{"message":"Invalid API Key"}"#)
        }
        let lists = request.line.hasPrefix("POST /in/users/track ") ? ["events", "attributes"] : ["aliases_to_identify"]
        guard lists.count == 2 || request.line.hasPrefix("POST /in/users/identify ") else { return connection.answer("404 Not Found") }
        guard request.body.count <= 4_000_000, let body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any],
            lists.contains(where: { !(body[$0] as? [Any] ?? []).isEmpty })
        else {
            return connection.answer("400 Bad Request", #"{"message":"Valid data must be provided in the 'attributes', 'events', or"}"#)
        }
        var errors: [String] = []
        for list in lists {
            let objects = body[list] as? [[String: Any]] ?? []
            guard objects.count <= 75 else { return connection.answer("400 Bad Request", #"{"message":"Too many objects"}"#) }
            for (index, object) in objects.enumerated() {
                if let fault = FakeBraze.fault(object, list) {
                    errors.append(#"{"type":"\#(fault)","input_array":"\#(list)","index":\#(index)}"#)
                } else {
                    state.withLock { $0.kept.append("\(list): \(FakeBraze.person(object) ?? "") \(object["name"] ?? "")") }
                }
            }
        }
        connection.answer("201 Created", #"{"message":"success","errors":[\#(errors.joined(separator: ","))]}"#)
    }

    private static func person(_ object: [String: Any]) -> String? {
        if let id = object["external_id"] as? String, !id.isEmpty { return id }
        let alias = object["user_alias"] as? [String: Any]
        guard let name = alias?["alias_name"] as? String, let label = alias?["alias_label"] as? String else { return nil }
        return "\(label)/\(name)"
    }

    /// Returns the rule that an object breaks, or nil.
    private static func fault(_ object: [String: Any], _ list: String) -> String? {
        guard person(object) != nil else { return "'external_id', 'braze_id', 'user_alias', 'email' or 'phone' is required" }
        if list == "aliases_to_identify" { return object["user_alias"] == nil ? "user_alias is required" : nil }
        guard list == "events" else { return nil }
        guard let name = object["name"] as? String, !name.isEmpty, name.unicodeScalars.count <= 255 else { return "name is required" }
        if name == "poison" { return "the event is blocked" }
        guard (object["time"] as? String)?.contains("T") ?? false else { return "time must be in ISO 8601" }
        guard let properties = object["properties"] as? [String: Any] else { return "properties must be an object" }
        let isBad = properties.contains { key, value in
            key.hasPrefix("$") || key.unicodeScalars.count > 255 || (value as? String)?.unicodeScalars.count ?? 0 > 255
        }
        return isBad ? "a property is not valid" : nil
    }
}
