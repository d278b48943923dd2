// A source that reads files which other processes write. It submits their lines to a sink, and advances its place in a file only after the
// sink's answers. So nothing is lost after a kill, and lines without an answer are read again.
//
// Use it as follows. Create it for a plan. Call `start` before or while the workers run. Call `quiesce` when no more may be read. Call
// `stop` after the sink has answered everything that it took, to write the last places.

internal import CPlatform
internal import Glibc
public import Plans
public import Platform

public final class FileSource: Sendable {
    /// The time in milliseconds for which changes are collected, so that a file that is written continuously is read in blocks and not line
    /// by line.
    private static let breath: Int32 = 20
    /// The time between two searches for files if the system cannot report changes.
    private static let blindPoll = Duration.seconds(1)

    private struct Phase {
        var isStopping = false
        var thread: ThreadHandle?
    }
    private final class ThreadHandle: @unchecked Sendable {
        private var thread: Thread?
        init(_ thread: consuming Thread) { self.thread = consume thread }
        func join() { thread.take()?.join() }
    }

    public let name: String
    private let plan: FileSourcePlan
    private let clock: Clock
    private let awake: WakeUp
    private let phase = Monitor(Phase())
    /// Only the thread uses it. After the thread has ended, only the caller that joined it does.
    nonisolated(unsafe) private let follower: FileFollower

    /// `places` is the path of the file of places. If it is nil, the next run reads all files from their beginning. Throws if that file has
    /// a newer version or cannot be read.
    public init(
        name: String, plan: FileSourcePlan, source: Int, lineLimit: Int, places: String?, sink: any EventSink, clock: Clock = .system,
        say: @escaping @Sendable (String) -> Void, overlong: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws(FilePlacesFault) {
        self.name = name
        self.plan = plan
        self.clock = clock
        do throws(SystemFault) {
            awake = try WakeUp()
        } catch {
            throw FilePlacesFault(message: "the source \(printable(name)) cannot be made: \(error)")
        }
        let around = FileFollower.Dependencies(
            source: source, lineLimit: lineLimit, places: places, clock: clock, say: say, overlong: overlong)
        follower = try FileFollower(name, plan: plan, around: around, sink: sink) { [awake] in awake.raise() }
    }

    /// Starts reading on a separate thread.
    public func start() {
        let handle = ThreadHandle(Thread.start("files") { [self] in run() })
        phase.withLock { phase in
            assert(phase.thread == nil, "a source was started twice")
            phase.thread = handle
        }
    }

    /// Stops reading. Submitted lines are still answered.
    public func quiesce() {
        phase.withLock { $0.isStopping = true }
        awake.raise()
    }

    /// Stops the source, and writes the places up to which the sink has answered.
    public func stop() {
        quiesce()
        let handle = phase.withLock { phase in
            defer { phase.thread = nil }
            return phase.thread
        }
        guard let handle else { return }
        handle.join()
        follower.finish()
    }

    // MARK: - The thread

    private func run() {
        let number = cplatform_watch()
        let watch = Descriptor(owning: number)
        // It is true at first, so that the first step searches all names.
        var hasNews = true
        var nextWatch = Instant(nanoseconds: .min)
        var poll = plan.poll
        while !phase.withLock({ $0.isStopping }) {
            if hasNews || clock.now() >= nextWatch {
                // The folders are watched before they are searched, so that no change is missed in between.
                poll = number >= 0 && watchFolders(number) ? plan.poll : min(plan.poll, FileSource.blindPoll)
                nextWatch = clock.now() + poll
            }
            hasNews = wait(watch.number, until: follower.step(names: hasNews, poll: poll))
        }
    }

    /// Waits until `due`, a wake-up or a change. Returns true if the system reported changes.
    private func wait(_ watch: Int32, until due: Instant) -> Bool {
        let left = (due - clock.now()).nanoseconds / 1_000_000 + 1
        var ready = (
            pollfd(fd: awake.descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
        )
        _ = withUnsafeMutablePointer(to: &ready) {
            $0.withMemoryRebound(to: pollfd.self, capacity: 2) { poll($0, 2, Int32(clamping: max(0, left))) }
        }
        if ready.0.revents != 0 { awake.lower() }
        guard ready.1.revents != 0 else { return false }
        var stop = pollfd(fd: awake.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&stop, 1, FileSource.breath)
        var news = [UInt8](repeating: 0, count: 4096)
        while read(watch, &news, news.count) > 0 {}
        return true
    }

    /// Watches the folders in which files may appear. Returns false if some of them cannot be watched.
    private func watchFolders(_ watch: Int32) -> Bool {
        plan.paths.allSatisfy { pattern in
            let slash = pattern.utf8.lastIndex(of: UInt8(ascii: "/"))
            let folder = slash.map { $0 == pattern.startIndex ? "/" : String(pattern[..<$0]) } ?? "."
            var found = glob_t()
            defer { globfree(&found) }
            guard glob(folder, 0, nil, &found) == 0 else { return false }
            return (0..<Int(found.gl_pathc)).allSatisfy { found.gl_pathv[$0].map { cplatform_watch_files(watch, $0) == 0 } ?? true }
        }
    }
}
