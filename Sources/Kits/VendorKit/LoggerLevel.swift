// The levels of loggers, by the names that logging libraries have for them. A name that is none of these is no level.

public enum LoggerLevel: Int, Sendable, CaseIterable {
    case trace, debug, information, warning, error, fatal

    private static let names: [TextSet] = [
        TextSet(["trace", "verbose"], ignoringCase: true),
        TextSet(["debug"], ignoringCase: true),
        TextSet(["info", "information", "notice", "log"], ignoringCase: true),
        TextSet(["warn", "warning"], ignoringCase: true),
        TextSet(["error", "err", "severe"], ignoringCase: true),
        TextSet(["fatal", "critical", "emergency", "alert", "panic"], ignoringCase: true),
    ]

    public init?(_ value: Value) {
        guard value.isText, let index = LoggerLevel.names.firstIndex(where: { $0.contains(value) }) else { return nil }
        self.init(rawValue: index)
    }
}
