// PostHog's /batch/ endpoint as its documentation and the source of its server describe it. It keeps the events that it takes, and drops
// those that PostHog drops while it answers 200.

import Foundation
import HTTPSupport
import PluginKit

@testable import PostHog

struct KeptEvent: Sendable {
    let name: String
    let id: String
    let uuid: String?
    let isHistorical: Bool
}

final class FakePostHog: Sendable {
    private struct State {
        var kept: [KeptEvent] = []
        var dropped = 0
    }
    private let state = Monitor(State())
    let key: String

    init(key: String) { self.key = key }

    var kept: [KeptEvent] { state.withLock { $0.kept } }
    var dropped: Int { state.withLock { $0.dropped } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard request.line.hasPrefix("POST /in/batch/ ") else { return connection.answer("404 Not Found") }
        guard request.body.count <= 20 << 20 else { return connection.answer("413 Payload Too Large") }
        guard let body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any],
            let batch = body["batch"] as? [[String: Any]], !batch.isEmpty
        else { return connection.answer("400 Bad Request", "failed to parse request") }
        guard body["api_key"] as? String == key else { return connection.answer("401 Unauthorized", "API key is not valid: \(key)") }
        for event in batch { take(event, isHistorical: body["historical_migration"] as? Bool ?? false) }
        connection.answer("200 OK", #"{"status":1}"#)
    }

    private func take(_ event: [String: Any], isHistorical: Bool) {
        let uuid = event["uuid"] as? String
        state.withLock { state in
            guard let name = event["event"] as? String, !name.isEmpty, let id = event["distinct_id"] as? String, !id.isEmpty,
                id.count <= 200,
                uuid.map({ UUID(uuidString: $0) != nil }) ?? true, event["properties"] is [String: Any],
                JSONSerialization.isValidJSONObject(event), (try? JSONSerialization.data(withJSONObject: event).count) ?? 0 <= 1_000_000
            else {
                state.dropped += 1
                return
            }
            state.kept.append(KeptEvent(name: name, id: id, uuid: uuid, isHistorical: isHistorical))
        }
    }
}
