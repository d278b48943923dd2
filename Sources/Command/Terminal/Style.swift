// Colours text on a terminal. It never colours a pipe or a file, and never if NO_COLOR is set or the terminal is dumb.

internal import Glibc

public struct Style: Sendable {
    public let isColoured: Bool

    public init(isColoured: Bool = false) { self.isColoured = isColoured }

    public static var ofStandardOutput: Style {
        func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
        return Style(isColoured: isatty(1) == 1 && variable("NO_COLOR").isEmpty && variable("TERM") != "dumb")
    }

    public func strong(_ text: String) -> String { coloured(text, "1") }
    public func faint(_ text: String) -> String { coloured(text, "2") }
    public func good(_ text: String) -> String { coloured(text, "32") }
    public func bad(_ text: String) -> String { coloured(text, "33") }

    private func coloured(_ text: String, _ code: String) -> String { isColoured ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text }
}
