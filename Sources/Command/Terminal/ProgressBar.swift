// Shows the progress of a long task on the last line of a terminal, and messages above it.

internal import CPlatform
internal import Glibc
internal import Platform

/// The progress line of a terminal. If standard error is not a terminal, it shows only messages.
public final class ProgressBar {
    private static let pause = Duration.milliseconds(100)

    private let isShown = isatty(2) == 1 && getenv("TERM").map { String(cString: $0) } != "dumb"
    private var line: ProgressLine?
    /// The number of bytes in the inputs that are done.
    private var finished = 0
    private var next = Instant(nanoseconds: .min)
    private var isDrawn = false

    public init() {}

    /// Begins a task. `things` names what is counted, such as `events`.
    public func begin(size: Int?, before: Int = 0, of things: String) {
        line = ProgressLine(began: Clock.system.now(), size: size, before: before, things: things)
    }

    public func show(bytes: Int, events: Int) {
        let now = Clock.system.now()
        guard isShown, now >= next, let line else { return }
        next = now + ProgressBar.pause
        let width = Int(cplatform_columns(2))
        Console.note("\r" + line.text(bytes: finished + bytes, events: events, now: now, width: (width > 0 ? width : 80) - 1) + "\u{1b}[K")
        isDrawn = true
    }

    /// Adds the size of an input that is done.
    public func finish(_ size: Int) { finished += size }

    public func clear() {
        if isDrawn { Console.note("\r\u{1b}[K") }
        isDrawn = false
    }

    public func say(_ text: String) {
        clear()
        Console.say(text)
        next = Instant(nanoseconds: .min)
    }
}
