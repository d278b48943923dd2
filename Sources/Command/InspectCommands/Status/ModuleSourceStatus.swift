// The current state of a source of a module, for the status and the metrics.

public import Ingest
internal import Platform
internal import Terminal

public struct ModuleSourceStatus: Sendable {
    var name: String
    var condition: SourceCondition

    public init(name: String, condition: SourceCondition) {
        self.name = name
        self.condition = condition
    }
}

extension ModuleSourceStatus {
    var json: String {
        let events = condition.eventsBehind.map { "\($0)" } ?? "null"
        let time = condition.timeBehind.map { "\(Double($0.nanoseconds / 1_000_000) / 1000)" } ?? "null"
        return
            "{\"name\":\(jsonQuoted(name)),\"state\":\(jsonQuoted(condition.state.rawValue)),\"message\":\(jsonQuoted(condition.message)),"
            + "\"behind_events\":\(events),\"behind_s\":\(time),\"open_blocks\":\(condition.openBlocks),"
            + "\"open_bytes\":\(condition.openBytes),\"waiting_blocks\":\(condition.waitingBlocks),\"paused\":\(condition.isPaused),"
            + "\"ended\":\(condition.hasEnded),\"acknowledged_blocks\":\(condition.acknowledged),\"wrong_blocks\":\(condition.wrong),"
            + "\"lost_blocks\":\(condition.lost)}"
    }

    /// One line for a person.
    func text(_ style: Style) -> String {
        var parts = [condition.hasEnded ? "ended" : condition.state.rawValue]
        if condition.isPaused { parts.append("paused") }
        if let events = condition.eventsBehind { parts.append("\(grouped(Int(clamping: events))) events behind") }
        if let time = condition.timeBehind { parts.append("\(time.nanoseconds / 1_000_000_000)s behind") }
        parts.append("\(grouped(condition.openBlocks)) blocks of \(grouped(condition.openBytes)) bytes not acknowledged")
        if condition.wrong > 0 { parts.append("\(grouped(condition.wrong)) blocks refused") }
        if condition.lost > 0 { parts.append("events of \(grouped(condition.lost)) blocks lost") }
        let message = condition.message.isEmpty ? "" : ": \(printable(condition.message))"
        let line = "  \(printable(name)): \(parts.joined(separator: ", "))\(message)"
        return condition.state == .fault ? style.bad(line) : line
    }
}
