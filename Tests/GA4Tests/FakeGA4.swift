// Google's /mp/collect as its documentation describes it. It answers 204 to everything, and notes what Google would take and what it would
// drop, ignore or change.

import Foundation
import HTTPSupport
import PluginKit

struct KeptEvent: Sendable, Equatable {
    let client: String
    let name: String
    let time: Int
}

final class FakeGA4: Sendable {
    private struct State {
        var kept: [KeptEvent] = []
        var losses: [String] = []
    }
    private let state = Monitor(State())
    let isApp: Bool

    init(isApp: Bool = false) { self.isApp = isApp }

    var kept: [KeptEvent] { state.withLock { $0.kept } }
    var losses: [String] { state.withLock { $0.losses } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        let id = isApp ? "firebase_app_id=1:2:ios:3" : "measurement_id=G-1"
        if request.line.hasPrefix("POST /in/mp/collect?\(id)&api_secret=s3cret ") {
            take(request.body)
        } else {
            state.withLock { $0.losses.append("wrong path \(request.line)") }
        }
        connection.answer("204 No Content")
    }

    func take(_ body: [UInt8]) {
        state.withLock { state in
            guard body.count < 130_000, let tree = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any],
                let events = tree["events"] as? [[String: Any]], (1...25).contains(events.count)
            else { return state.losses.append("a body that is malformed or too large") }
            var losses: [String] = []
            let client = tree[isApp ? "app_instance_id" : "client_id"] as? String ?? ""
            if !matches(client, isApp ? "^[0-9A-Fa-f]{32}$" : "^[0-9]+\\.[0-9]+$") { losses.append("id \(client)") }
            if let user = tree["user_id"], (user as? String)?.unicodeScalars.count ?? 999 > 256 { losses.append("user_id") }
            for (name, property) in tree["user_properties"] as? [String: [String: Any]] ?? [:] {
                let reserved = ["first_open_time", "first_visit_time", "last_deep_link_referrer", "user_id", "first_open_after_install"]
                if !isName(name, 24) || reserved.contains(name) || !isScalar(property["value"], 36) { losses.append("property \(name)") }
            }
            if (tree["user_properties"] as? [String: Any])?.count ?? 0 > 25 { losses.append("too many properties") }
            for (name, signal) in tree["consent"] as? [String: Any] ?? [:]
            where !["ad_user_data", "ad_personalization"].contains(name) || !["GRANTED", "DENIED"].contains(signal as? String) {
                losses.append("consent \(name)")
            }
            for event in events { losses += self.losses(of: event) }
            state.losses += losses
            guard losses.isEmpty else { return }
            state.kept += events.map {
                KeptEvent(client: client, name: $0["name"] as? String ?? "", time: $0["timestamp_micros"] as? Int ?? 0)
            }
        }
    }

    private func losses(of event: [String: Any]) -> [String] {
        let name = event["name"] as? String ?? ""
        let reserved =
            ["session_start", "error", "first_open", "user_engagement", "app_remove"] + (isApp ? [] : ["screen_view", "ad_impression"])
        var losses: [String] = []
        if !isName(name, 40) || reserved.contains(name) { losses.append("name \(name)") }
        if !(event["timestamp_micros"] is Int) { losses.append("no time") }
        guard let parameters = event["params"] as? [String: Any], parameters.count <= 25 else { return losses + ["parameters"] }
        for (name, value) in parameters where !isName(name, 40) || !isParameter(value, name) { losses.append("parameter \(name)") }
        return losses
    }

    private func isParameter(_ value: Any, _ name: String) -> Bool {
        if name == "items", let items = value as? [[String: Any]] {
            return items.allSatisfy { $0.allSatisfy { isName($0.key, 40) && isScalar($0.value, 100) } }
        }
        return isScalar(value, ["page_location": 1000, "page_referrer": 420, "page_title": 300][name] ?? 100)
    }

    private func isScalar(_ value: Any?, _ most: Int) -> Bool {
        if let text = value as? String { return text.unicodeScalars.count <= most }
        return value is NSNumber
    }

    private func isName(_ name: String, _ most: Int) -> Bool {
        matches(name, "^[A-Za-z][A-Za-z0-9_]*$") && name.utf8.count <= most
            && !["ga_", "google_", "firebase_"].contains { name.lowercased().hasPrefix($0) }
    }

    private func matches(_ text: String, _ pattern: String) -> Bool { text.range(of: pattern, options: .regularExpression) != nil }
}
