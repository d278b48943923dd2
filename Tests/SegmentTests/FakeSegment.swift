// The batch endpoint of Segment, or of RudderStack, as their documentation describes it. It keeps the events that it takes, and drops those
// that the service drops while it answers 200.

import Foundation
import HTTPSupport
import PluginKit

final class FakeSegment: Sendable {
    private struct State {
        var kept: [String] = []
        var dropped: [String] = []
    }
    private let state = Monitor(State())
    private let authorization: String
    private let mostOfBody: Int
    private let mostEvents: Int

    init(key: String, mostOfBody: Int, mostEvents: Int) {
        authorization = "Basic " + Data("\(key):".utf8).base64EncodedString()
        self.mostOfBody = mostOfBody
        self.mostEvents = mostEvents
    }

    /// The types of the kept events.
    var kept: [String] { state.withLock { $0.kept } }
    /// The events that the service would not have kept.
    var dropped: [String] { state.withLock { $0.dropped } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard request.line.hasPrefix("POST /in/v1/batch ") else { return connection.answer("404 Not Found") }
        guard request.headers["authorization"] == authorization else { return connection.answer("401 Unauthorized") }
        guard request.body.count <= mostOfBody else { return connection.answer("400 Bad Request", "too large") }
        guard let body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any],
            let batch = body["batch"] as? [[String: Any]], batch.count <= mostEvents
        else { return connection.answer("400 Bad Request", "malformed JSON") }
        for event in batch { take(event) }
        connection.answer("200 OK", #"{"success": true}"#)
    }

    private func take(_ event: [String: Any]) {
        func isText(_ name: String) -> Bool { !((event[name] as? String)?.isEmpty ?? true) }
        func isObject(_ name: String) -> Bool { event[name] == nil || event[name] is NSNull || event[name] is [String: Any] }
        let hasWhatItNeeds =
            switch event["type"] as? String {
            case "track": isText("event")
            case "identify", "page", "screen": true
            case "group": isText("groupId")
            case "alias": isText("userId") && isText("previousId")
            default: false
            }
        let isKept =
            hasWhatItNeeds && (isText("userId") || isText("anonymousId")) && isText("timestamp")
            && ["properties", "traits", "context", "integrations"].allSatisfy(isObject)
            && (event["messageId"] as? String ?? "").unicodeScalars.count <= 100 && event["sentAt"] == nil && event["writeKey"] == nil
            && (try? JSONSerialization.data(withJSONObject: event, options: .withoutEscapingSlashes).count) ?? .max <= 40_000
        state.withLock { state in
            if isKept { state.kept.append(event["type"] as? String ?? "") } else { state.dropped.append("\(event)") }
        }
    }
}
