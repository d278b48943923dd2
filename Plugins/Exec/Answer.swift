// One line of a program's standard output: {"outcome": "rejected", "code": 422, "message": "no such user"}. A line is either read
// completely or invalid. Unknown members are never ignored.

internal import PluginKit

struct Answer {
    /// The largest number of bytes in a line.
    static let most = 65_536

    let outcome: Outcome

    private static let delivered = Array(#"{"outcome":"delivered"}"#.utf8)

    /// Parses one line. Returns nil if it is not a valid answer.
    init?(_ line: UnsafeRawBufferPointer) {
        // This is by far the most frequent answer, and it needs no parsing.
        if line.elementsEqual(Answer.delivered) {
            outcome = .delivered
            return
        }
        guard line.count <= Answer.most, let text = String(validating: line, as: UTF8.self), let members = try? Settings(json: text),
            let kind = members.get("outcome", as: String.self)
        else { return nil }
        for name in members.names where !["outcome", "code", "message", "retry_after_ms"].contains(name) { return nil }
        let code = members.get("code", as: Int.self)
        let message = members.get("message", as: String.self)
        let after = members.get("retry_after_ms", as: Int.self)
        for (name, isRead) in [("code", code != nil), ("message", message != nil), ("retry_after_ms", after != nil)] {
            if members.names.contains(name), !isRead { return nil }
        }
        if let after, after < 0 || kind != "retry" { return nil }
        let words = message ?? "the program said \(kind)"
        switch kind {
        case "delivered": outcome = .delivered
        case "rejected": outcome = .rejected(code: code ?? 0, words)
        case "retry": outcome = .retry(code: code ?? 0, words, afterMilliseconds: after.map { UInt64($0) })
        case "unknown": outcome = .unknown(code: code ?? 0, words)
        case "fault": outcome = .fault(code: code ?? 0, words)
        case "closed": outcome = .closed(words)
        default: return nil
        }
    }
}
