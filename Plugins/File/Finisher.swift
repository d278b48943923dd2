// Compresses finished files and removes those beyond `keep` and `retention`, on a separate thread so that no lane waits. It works from the
// content of the folder, so the next start completes what a crash interrupted. It waits while an erasure rewrites the files.

internal import Glibc
internal import PluginKit

final class Finisher: Sendable {
    private struct State {
        var current = ""
        var wanted = false
        var ending = false
    }

    private let rules: FileRules
    private let host: Host
    private let system: FileSystem
    private let files: Monitor<OwnFiles>
    private let state = Monitor(State())
    private let thread = Monitor<Thread?>(nil)

    /// Returns nil if finished files are neither compressed nor removed.
    /// An erasure has `files` to itself while it rewrites them.
    init?(_ rules: FileRules, host: Host, system: FileSystem, files: Monitor<OwnFiles>) {
        let rotation = rules.rotation
        guard rotation.compression != .none || rotation.keep != nil || rotation.retention != nil else { return nil }
        self.files = files
        self.rules = rules
        self.host = host
        self.system = system
    }

    /// Sets the current file, which the writer writes to from now on. The writer calls it before it makes the file. All other files are
    /// finished.
    func begin(_ path: String) {
        state.withLock { state in
            assert(!state.ending, "a file begins after the end of the provider")
            state.current = path
            state.wanted = true
            self.state.wake()
        }
        thread.withLock { if $0 == nil { $0 = Thread.start("file-finisher") { self.run() } } }
    }

    /// Completes the remaining work and ends the thread.
    func end() {
        state.withLock { state in
            state.ending = true
            self.state.wake()
        }
        let thread = self.thread.withLock { $0.take() }
        thread?.join()
    }

    private func run() {
        var wake: Instant?
        while true {
            let wanted: Bool = state.waitUntilReady { state in
                let isDue = wake.map { Clock.system.now() >= $0 } ?? false
                guard state.wanted || state.ending || isDue else { return .notBefore(wake) }
                defer { state.wanted = false }
                return .ready(state.wanted || !state.ending)
            }
            guard wanted else { return }
            wake = files.withLock { files in
                tidy(files)
                return pause(files).map { Clock.system.now() + $0 }
            }
        }
    }

    /// A file that cannot be removed is not tried all the time, and the clock of the calendar may be set.
    private static let pauses = (shortest: Duration.seconds(60), longest: Duration.seconds(3600))

    /// Returns the time until the oldest finished file has been kept long enough.
    private func pause(_ files: OwnFiles) -> Duration? {
        guard let retention = rules.rotation.retention else { return nil }
        let oldest = finished(files).map { Finisher.nanoseconds($0.modified) }.min() ?? system.now()
        let left = Duration.nanoseconds(oldest) + .nanoseconds(retention) - .nanoseconds(system.now())
        let pauses = Finisher.pauses
        return min(max(left, pauses.shortest), pauses.longest)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }

    private func tidy(_ files: OwnFiles) {
        for leftover in files.halfCompressed { unlink(leftover) }
        for leftover in files.halfRewritten { Rewriting.removeLeftover(leftover) }
        if let keep = rules.rotation.keep {
            let byAge = finished(files).sorted { first, second in
                (first.modified.tv_sec, first.modified.tv_nsec, first.path) < (second.modified.tv_sec, second.modified.tv_nsec, second.path)
            }
            for file in byAge.dropLast(keep) { remove(file.path) }
        }
        if let retention = rules.rotation.retention {
            let now = system.now()
            for file in finished(files) where now.subtractingReportingOverflow(Finisher.nanoseconds(file.modified)).0 >= retention {
                remove(file.path)
            }
        }
        guard rules.rotation.compression != .none else { return }
        for file in finished(files) where !Finisher.isCompressed(file.path) {
            do throws(FileFault) {
                try Compressor(rules.rotation.compression, system).compress(file.path, synchronize: rules.sync != .never) {
                    state.withLock { $0.current == file.path }
                }
            } catch {
                host.log(.warning, "\(error.message); '\(file.path)' stays as it is")
            }
        }
    }

    /// Removes a file unless it is the current one. The lock makes sure that a writer that returns to the file finds it removed and makes
    /// it again.
    private func remove(_ path: String) {
        let code = state.withLock { $0.current == path || unlink(path) == 0 ? 0 : errno }
        if code != 0, code != ENOENT { host.log(.warning, "cannot remove '\(path)': \(systemWords(code))") }
    }

    private static func isCompressed(_ path: String) -> Bool { path.hasSuffix(".gz") || path.hasSuffix(".zst") }

    private func finished(_ files: OwnFiles) -> [(path: String, modified: timespec)] {
        let paths = files.all
        // This runs after the folder was read. A file that a writer starts meanwhile was announced before it was made, so it counts as
        // current.
        let current = state.withLock { $0.current }
        return paths.compactMap { path in
            guard path != current, let status = FileStatus(path: path, followingLinks: false), status.kind == .regular else { return nil }
            return (path, status.modified)
        }
    }
}
