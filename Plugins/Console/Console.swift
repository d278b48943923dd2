// The provider `console`: writes events to standard output or standard error, as NDJSON for programs or in a readable form for people. It
// promises that the readable form never passes control characters of an event to the terminal. It notices at once if the reader leaves,
// also between events.

internal import Glibc
public import PluginKit

final class ConsoleProvider: Provider {
    static let description = Description(
        name: "console", version: "0.1.0", summary: "Writes events to standard output or standard error.",
        settings: [
            "format": .choice(
                "ndjson: one event per line, unchanged; pretty: for people; auto: pretty on a terminal, ndjson elsewhere",
                of: Format.allCases.map(\.rawValue), default: "auto"),
            "stream": .choice("where to write", of: Stream.allCases.map(\.rawValue), default: "stdout"),
            "color": .choice(
                "when pretty has colors; auto: on a terminal, unless NO_COLOR is set", of: Color.allCases.map(\.rawValue), default: "auto"),
        ],
        writesToStreams: true,
        // No deadline: a reader, such as a pager or a suspended program, may pause for any time.
        delivery: Description.Delivery(ordered: true, deadline: "0s"))

    enum Format: String, SettingValue, CaseIterable { case auto, ndjson, pretty }
    enum Stream: String, SettingValue, CaseIterable { case stdout, stderr }
    enum Color: String, SettingValue, CaseIterable { case auto, always, never }

    private let outlet: Outlet
    private let pretty: Pretty?
    private let watch: ReaderWatch?

    convenience init(settings: Settings, host: Host) throws {
        let outlet = settings.get("stream") == Stream.stderr ? Outlet.standardError : Outlet.standardOutput
        try self.init(settings: settings, host: host, outlet: outlet, environment: { name in getenv(name).map { String(cString: $0) } })
    }

    init(settings: Settings, host: Host, outlet: Outlet, environment: (String) -> String?) throws {
        self.outlet = outlet
        let terminal = isatty(outlet.descriptor) == 1
        let format = settings.get("format") ?? Format.auto
        let color =
            switch settings.get("color") ?? Color.auto {
            case .auto: terminal && (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
            case .always: true
            case .never: false
            }
        pretty = format == .pretty || (format == .auto && terminal) ? Pretty(color: color) : nil
        watch = ReaderWatch(outlet.descriptor) { host.closed("the reader of \(outlet.name) has left") }
    }

    func deliver(_ batch: borrowing Batch) -> Outcome {
        if let pretty { return pretty.render(batch) { outlet.write($0) } }
        return outlet.write(batch.lines)
    }

    func close() { watch?.end() }
}

/// A stream of the process. Several providers may share it, and their lines never mix.
struct Outlet: Sendable {
    static let standardOutput = Outlet(descriptor: STDOUT_FILENO, name: "standard output")
    static let standardError = Outlet(descriptor: STDERR_FILENO, name: "standard error")

    let descriptor: Int32
    let name: String
    private let stream: Monitor<LineStream>

    init(descriptor: Int32, name: String, calls: StreamCalls = .system) {
        self.descriptor = descriptor
        self.name = name
        stream = Monitor(LineStream(descriptor: descriptor, calls: calls))
    }

    func write(_ lines: Lines) -> Outcome {
        let progress = stream.withLock { $0.write(lines) }
        let rest: Outcome =
            switch progress.error {
            case 0: .delivered
            case EPIPE, ECONNRESET: .closed("the reader of \(name) has left")
            // A terminal that hung up. isatty fails on it with EIO too.
            case EIO where isatty(descriptor) == 1 || errno == EIO: .closed("\(name) is gone: \(systemWords(EIO))")
            case EBADF: .closed("\(name) is not open: \(systemWords(EBADF))")
            default: .retry(code: Int(progress.error), "cannot write to \(name): \(systemWords(progress.error))")
            }
        return progress.error == 0 ? rest : .partly(delivered: progress.lines, rest: rest)
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(ConsoleProvider.self) }
