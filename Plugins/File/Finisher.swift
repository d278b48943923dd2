// Compresses finished files and removes those beyond `keep`, on a separate thread so that no lane waits. It works from the content of the
// folder, so the next start completes what a crash interrupted.

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
    private let state = Monitor(State())
    private let thread = Monitor<Thread?>(nil)

    /// Returns nil if finished files are neither compressed nor removed.
    init?(_ rules: FileRules, host: Host, system: FileSystem) {
        guard rules.rotation.compression != .none || rules.rotation.keep != nil else { return nil }
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
        while true {
            let wanted: Bool = state.waitUntilReady { state in
                guard state.wanted || state.ending else { return .notBefore(nil) }
                defer { state.wanted = false }
                return .ready(state.wanted)
            }
            guard wanted else { return }
            tidy()
        }
    }

    func tidy() {
        for leftover in files(ending: [".gz" + Compressor.partial, ".zst" + Compressor.partial]) { unlink(leftover) }
        if let keep = rules.rotation.keep {
            let byAge = finished().sorted { first, second in
                (first.modified.tv_sec, first.modified.tv_nsec, first.path) < (second.modified.tv_sec, second.modified.tv_nsec, second.path)
            }
            for file in byAge.dropLast(keep) { remove(file.path) }
        }
        guard rules.rotation.compression != .none else { return }
        for file in finished() where !Finisher.isCompressed(file.path) {
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

    private func finished() -> [(path: String, modified: timespec)] {
        let paths = files(ending: ["", ".gz", ".zst"])
        // This runs after the folder was read. A file that a writer starts meanwhile was announced before it was made, so it counts as
        // current.
        let current = state.withLock { $0.current }
        return paths.compactMap { path in
            guard path != current, let status = FileStatus(path: path, followingLinks: false), status.kind == .regular else { return nil }
            return (path, status.modified)
        }
    }

    /// Returns the files of the template, with their original and their rotated names.
    private func files(ending suffixes: [String]) -> [String] {
        let plain = rules.template.glob
        let rotated = plain + "." + PathTemplate.pattern(RotatedName.shape)
        return suffixes.flatMap { Finisher.glob(plain + $0) + Finisher.glob(rotated + $0) }
    }

    private static func glob(_ pattern: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard Glibc.glob(pattern, 0, nil, &found) == 0 else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { index in found.gl_pathv[index].map { String(cString: $0) } }
    }
}

/// The name of a rotated file: the path, and the UTC time of the rotation. The names sort by age.
enum RotatedName {
    static let shape = "00000000T000000.000Z"

    /// Returns an unused name whose compressed forms are unused too. Each time is used only once.
    static func free(for path: String, at nanoseconds: Int64) -> String {
        var milliseconds = nanoseconds / 1_000_000
        while true {
            let name = path + "." + stamp(milliseconds)
            if !["", ".gz", ".zst"].contains(where: { FileStatus(path: name + $0, followingLinks: false) != nil }) { return name }
            milliseconds += 1
        }
    }

    private static func stamp(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var clock = tm()
        gmtime_r(&seconds, &clock)
        var buffer = [CChar](repeating: 0, count: 32)
        let length = strftime(&buffer, buffer.count, "%Y%m%dT%H%M%S", &clock)
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        return String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self) + "." + fraction + "Z"
    }
}
