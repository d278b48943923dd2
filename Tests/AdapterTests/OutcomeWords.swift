// Outcomes as text, which tests compare.

import PluginKit

/// Returns the outcome of a batch or of an erasure, and those of its parts.
func words(_ outcome: Outcome) -> String {
    switch outcome {
    case .delivered: "delivered"
    case .rejected(let code, let message): "rejected \(code) \(message)"
    case .retry(let code, let message, let after): "retry \(code) \(message)\(after.map { " after \($0)" } ?? "")"
    case .unknown(_, let message): "unknown \(message)"
    case .fault(let code, let message): "fault \(code) \(message)"
    case .closed(let message): "closed \(message)"
    case .untried: "untried"
    case .mixed(let rest, let events): words(rest) + events.map { "; \($0.index) \(words($0.outcome))" }.joined()
    }
}
