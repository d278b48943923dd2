// Runs `switchyard replay` for the page, as a process of its own: with the same rules, lock and entries of the audit trail as when a person runs
// it. One replay runs at a time. It ends with the router.

internal import Platform

public final class PageReplay: Sendable {
    private struct State {
        var isRunning = false
        /// What the last replay said.
        var words = ""
    }

    private let file: String
    private let folder: String
    private let state = Monitor(State())
    /// The most lines that are kept of what a replay says.
    private static let mostLines = 40

    /// `file` is the configuration, and `folder` the state folder.
    public init(file: String, folder: String) {
        self.file = file
        self.folder = folder
    }

    /// What the page shows of it.
    var json: String {
        let state = state.withLock { $0 }
        return "{\"running\":\(state.isRunning),\"words\":\(jsonQuoted(state.words))}"
    }

    /// Begins to send the letters of the provider again, or all if it is nil. Returns false if a replay is running.
    func begin(_ provider: String?) -> Bool {
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { Thread.start("replay") { self.run(provider) }.detach() }
        return isFirst
    }

    private func run(_ provider: String?) {
        let lines = Monitor<[String]>([])
        var arguments = ["replay", "--config", file, "--state", folder]
        if let provider { arguments.append("--provider=\(provider)") }
        do throws(SystemFault) {
            let (pipe, process) = try ErrorPipe.open(
                "replay output",
                hear: { output in
                    guard case .line(let bytes) = output else { return }
                    lines.withLock { if $0.count < PageReplay.mostLines { $0.append(String(decoding: bytes, as: UTF8.self)) } }
                },
                start: { (end) throws(SystemFault) in
                    try Process(OwnProgram.path, arguments, descriptors: [-1, end, end])
                })
            _ = process.wait()
            pipe.close()
        } catch {
            lines.withLock { $0.append("the replay could not be started: \(error)") }
        }
        let words = lines.withLock { $0 }.joined(separator: "\n")
        state.withLock { $0 = State(isRunning: false, words: words) }
    }
}
