// Colours text on a terminal. It never colours a pipe or a file, and never if NO_COLOR is set or the terminal is dumb.

import Glibc

struct Style {
    var isColoured = false

    static var ofStandardOutput: Style {
        func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
        return Style(isColoured: isatty(1) == 1 && variable("NO_COLOR").isEmpty && variable("TERM") != "dumb")
    }

    func strong(_ text: String) -> String { coloured(text, "1") }
    func faint(_ text: String) -> String { coloured(text, "2") }
    func good(_ text: String) -> String { coloured(text, "32") }
    func bad(_ text: String) -> String { coloured(text, "33") }

    private func coloured(_ text: String, _ code: String) -> String { isColoured ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text }
}
