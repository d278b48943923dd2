// Formats the line that shows progress to a person: how much is sent, how fast, and how long the rest takes. It does no input or output.

internal import Platform

struct ProgressLine {
    private let began: Instant
    /// The total number of bytes. It is nil if that is unknown.
    private let size: Int?
    /// The number of bytes that were taken by earlier runs.
    private let before: Int

    private let things: String

    /// `things` names what is counted.
    init(began: Instant, size: Int?, before: Int = 0, things: String = "events") {
        self.things = things
        self.began = began
        self.size = size
        self.before = before
    }

    /// Returns the line, of at most `width` columns. `bytes` is the number of bytes of the input so far, including those of earlier runs.
    func text(bytes: Int, events: Int, now: Instant, width: Int) -> String {
        let seconds = max(0.001, Double((now - began).nanoseconds) / 1e9)
        let speed = "\(grouped(Int(Double(events) / seconds))) \(things)/s"
        guard let size, size > 0 else { return fit("\(amount(bytes))  \(grouped(events)) \(things)  \(speed)", width) }
        let share = min(1, Double(bytes) / Double(size))
        assert((0...1).contains(share), "less than nothing of the input was sent")
        let done = max(0, bytes - before)
        let left = done > 0 ? "  \(ProgressLine.time(Double(size - min(size, bytes)) * seconds / Double(done))) left" : ""
        let text = " \(Int(share * 100)) %  \(amount(bytes)) of \(amount(size))  \(speed)\(left)"
        let bar = min(30, width - text.utf8.count - 2)
        guard bar >= 5 else { return fit(String(text.dropFirst()), width) }
        let full = Int(share * Double(bar))
        assert((0...bar).contains(full), "the bar is longer than its place")
        return "[" + String(repeating: "#", count: full) + String(repeating: ".", count: bar - full) + "]" + text
    }

    private func fit(_ text: String, _ width: Int) -> String { String(text.prefix(max(0, width))) }

    static func time(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 359_999).rounded(.up))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return whole >= 3600 ? "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))" : "\(whole / 60):\(two(whole % 60))"
    }
}

/// Formats a number of bytes for a person, such as `12.3 MB`.
public func amount(_ bytes: Int) -> String {
    var value = Double(bytes)
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 999.5 || unit == "GB" {
            let tenths = Int((value * 10).rounded())
            return unit == "B" || tenths >= 1000 ? "\((tenths + 5) / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
        }
        value /= 1000
    }
    return "\(bytes) B"
}
