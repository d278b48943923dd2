// Writes messages for people and log collectors to standard error, one per line. Standard output carries data only.

public import Platform

/// The format of the lines on standard error.
public enum LogFormat: String, CaseIterable, Sendable {
    /// For a person.
    case text
    /// `time=… message="…"`.
    case logfmt
    /// One JSON object per line, with the same two members.
    case json

    public init(word: String) throws(UsageFault) {
        guard let format = LogFormat(rawValue: word) else { throw UsageFault("--log must be text, logfmt or json, is '\(word)'") }
        self = format
    }

    /// Returns the line for a message. logfmt and JSON escape control characters, so that it stays one line. For text, the caller must
    /// escape them.
    func line(_ message: String, at time: Int64) -> String {
        switch self {
        case .text: "switchyard: \(message)\n"
        case .logfmt: "time=\(timestamp(time)) message=\(jsonQuoted(message))\n"
        case .json: "{\"time\":\(jsonQuoted(timestamp(time))),\"message\":\(jsonQuoted(message))}\n"
        }
    }
}

public enum Console {
    private static let format = Monitor(LogFormat.text)

    /// Writes one line to standard error, with one system call unless the system takes only a part of it. So lines of threads do not mix.
    public static let say: @Sendable (String) -> Void = { line in
        note(format.withLock { $0 }.line(line, at: Clock.system.wall()))
    }

    /// Reports the faults of a file, each with its place. In the text format they have no prefix.
    public static func report(_ lines: [String]) {
        if format.withLock({ $0 }) == .text { return note(lines.map { $0 + "\n" }.joined()) }
        for line in lines { say(line) }
    }

    /// Sets the format of all later lines.
    public static func use(_ new: LogFormat) { format.withLock { $0 = new } }

    /// Writes text to standard error as it is.
    public static func note(_ text: String) {
        var text = text
        text.withUTF8 { try? writeAll(2, UnsafeRawBufferPointer($0)) }
    }

    /// Writes requested data to standard output.
    public static func show(_ text: String) throws(SystemFault) {
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(SystemFault) in try writeAll(1, bytes) } }
        try result.get()
    }
}
