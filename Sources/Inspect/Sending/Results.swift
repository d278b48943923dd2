// Reads what an answer says about the events that were sent. It does no input or output. An event counts as taken only if the other side
// said so.

internal import CJansson
internal import Platform

/// What to do after an answer.
enum Judgement: Equatable {
    /// All events were taken except these. Each has its index among the events that were sent, and the message of the other side.
    case taken(rejected: [Rejection])
    /// No event was taken. They are to be sent again, and not before this number of seconds if the other side gave one.
    case later(String, seconds: Int?)
    /// The events are to be sent in smaller requests.
    case tooLarge(String)
    /// No event was taken, and sending them again would not help.
    case refused(String)
}

struct Rejection: Equatable {
    var event: Int
    var message: String
}

extension Answer {
    func judgement(of events: Int) -> Judgement {
        switch status {
        case 200...299, 400:
            if let results { return judge(results, events) }
            // A server that does not report results takes all events or none.
            return status == 400 ? .refused("refuses the events: \(words)") : .taken(rejected: [])
        case 300...399:
            return .refused("has moved\(location.map { " to \(printable($0))" } ?? ""); give that address to --to")
        case 401, 403: return .refused("refuses the key: \(words)")
        case 413: return .tooLarge(words)
        case 408, 425, 429, 500...599: return .later("answers \(words)", seconds: retryAfter)
        default: return .refused("answers \(words)")
        }
    }

    private func judge(_ results: [String?], _ events: Int) -> Judgement {
        guard results.count == events else { return .refused("reports \(results.count) results, expected \(events)") }
        return .taken(rejected: results.indices.compactMap { index in results[index].map { Rejection(event: index, message: $0) } })
    }

    /// For each event, the reason why it was rejected, or nil if it was taken. The list is nil if the answer has no results.
    private var results: [String?]? {
        withDocument { document in
            let list = json_object_get(document, "results")
            guard list?.pointee.type == JSON_ARRAY else { return nil }
            return (0..<json_array_size(list)).map { index -> String? in
                let result = json_array_get(list, index)
                guard Answer.text(result, "status") != "accepted" else { return nil }
                return printable(Answer.text(result, "error") ?? "no reason was given")
            }
        }
    }

    /// The status, with the reason if the body gives one.
    private var words: String {
        let reason = withDocument { Answer.text($0, "error") }
        return reason.map { "\(status), \(printable(String($0.prefix(300))))" } ?? "\(status)"
    }

    private func withDocument<Result>(_ body: (UnsafeMutablePointer<json_t>) -> Result?) -> Result? {
        let document = self.body.withUnsafeBytes { json_loadb($0.baseAddress, $0.count, Int(JSON_ALLOW_NUL), nil) }
        guard let document else { return nil }
        defer { json_decref(document) }
        return body(document)
    }

    private static func text(_ object: UnsafeMutablePointer<json_t>?, _ name: String) -> String? {
        json_string_value(json_object_get(object, name)).map { String(cString: $0) }
    }
}
