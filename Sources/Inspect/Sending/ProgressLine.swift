// The line that shows a person how far sending has come: what is sent, how fast, how long it will take. Pure.

public import Platform

public struct ProgressLine {
    private let began: Instant
    /// How many bytes there are in all; nil: nobody knows.
    private let size: Int?
    /// How many of them were taken before.
    private let before: Int

    private let things: String

    /// `things`: what is counted.
    public init(began: Instant, size: Int?, before: Int = 0, things: String = "events") {
        self.things = things
        self.began = began
        self.size = size
        self.before = before
    }

    /// At most `width` columns. `bytes`: of the input, those of before counted.
    public func text(bytes: Int, events: Int, now: Instant, width: Int) -> String {
        let seconds = max(0.001, Double((now - began).nanoseconds) / 1e9)
        let speed = "\(grouped(Int(Double(events) / seconds))) \(things)/s"
        guard let size, size > 0 else { return fit("\(amount(bytes))  \(grouped(events)) \(things)  \(speed)", width) }
        let share = min(1, Double(bytes) / Double(size))
        let done = max(0, bytes - before)
        let left = done > 0 ? "  \(ProgressLine.time(Double(size - min(size, bytes)) * seconds / Double(done))) left" : ""
        let words = " \(Int(share * 100)) %  \(amount(bytes)) of \(amount(size))  \(speed)\(left)"
        let room = min(30, width - words.utf8.count - 2)
        guard room >= 5 else { return fit(String(words.dropFirst()), width) }
        let full = Int(share * Double(room))
        return "[" + String(repeating: "#", count: full) + String(repeating: ".", count: room - full) + "]" + words
    }

    private func fit(_ text: String, _ width: Int) -> String { String(text.prefix(max(0, width))) }

    static func time(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 359_999).rounded(.up))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return whole >= 3600 ? "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))" : "\(whole / 60):\(two(whole % 60))"
    }
}

/// Bytes for a person: `12.3 MB`.
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
