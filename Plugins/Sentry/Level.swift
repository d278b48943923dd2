// The levels of Sentry, and the names that loggers have for them. A level that is none of these is left as it is.

internal import VendorKit

enum Level: Int, CaseIterable {
    case fatal, error, warning, info, debug

    private static let names: [TextSet] = [
        TextSet(["fatal", "critical", "emergency", "alert", "panic"], ignoringCase: true),
        TextSet(["error", "err", "severe"], ignoringCase: true),
        TextSet(["warning", "warn"], ignoringCase: true),
        TextSet(["info", "information", "notice", "log"], ignoringCase: true),
        TextSet(["debug", "trace", "verbose"], ignoringCase: true),
    ]

    init?(_ value: Value) {
        guard value.isText, let index = Level.names.firstIndex(where: { $0.contains(value) }) else { return nil }
        self.init(rawValue: index)
    }

    var name: StaticString {
        switch self {
        case .fatal: "fatal"
        case .error: "error"
        case .warning: "warning"
        case .info: "info"
        case .debug: "debug"
        }
    }
}
