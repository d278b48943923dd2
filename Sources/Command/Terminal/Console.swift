// What is said to a person or to who gathers logs: on standard error, one line each. Standard output carries data only.

import Glibc
import Platform

/// How a line on standard error is written.
enum LogFormat: String, CaseIterable {
    /// For a person.
    case text
    /// `time=… message="…"`.
    case logfmt
    /// One object a line, of the same two members.
    case json

    init(word: String) throws(UsageFault) {
        guard let format = LogFormat(rawValue: word) else { throw UsageFault("--log must be text, logfmt or json, is '\(word)'") }
        self = format
    }

    /// The line, its control characters escaped, so that it stays one.
    func line(_ message: String, at time: Int64) -> String {
        switch self {
        case .text: "switchyard: \(message)\n"
        case .logfmt: "time=\(timestamp(time)) message=\(jsonQuoted(message))\n"
        case .json: "{\"time\":\(jsonQuoted(timestamp(time))),\"message\":\(jsonQuoted(message))}\n"
        }
    }
}

enum Console {
    private static let format = Monitor(LogFormat.text)

    /// One line on standard error, whole, whoever else is writing.
    static let say: @Sendable (String) -> Void = { line in
        note(format.withLock { $0 }.line(line, at: Clock.system.wall()))
    }

    /// Faults of a file, each with its place; a person gets them bare.
    static func report(_ lines: [String]) {
        if format.withLock({ $0 }) == .text { return note(lines.map { $0 + "\n" }.joined()) }
        for line in lines { say(line) }
    }

    /// From now on lines are written so.
    static func use(_ new: LogFormat) { format.withLock { $0 = new } }

    /// Text on standard error as it is.
    static func note(_ text: String) {
        var text = text
        text.withUTF8 { try? writeAll(2, UnsafeRawBufferPointer($0)) }
    }

    /// What was asked for, on standard output.
    static func show(_ text: String) throws(SystemFault) {
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(SystemFault) in try writeAll(1, bytes) } }
        try result.get()
    }
}
