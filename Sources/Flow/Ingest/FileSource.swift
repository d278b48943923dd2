// A source that reads the files which other processes write. It hands their lines to a sink, and remembers how far a file was taken in
// only by the sink's answers: after a kill nothing is lost, and what was not answered is read again.
//
// How it is used: made for a plan, `start` before or while the workers run, `quiesce` when no more is to be read, and `stop` when the
// sink has answered everything it took: then the last answers are written down.

internal import CPlatform
internal import Glibc
public import Plans
public import Platform

public final class FileSource: Sendable {
    /// So that a file that is written all the time is read in blocks and not line by line.
    private static let breath: Int32 = 20
    /// How often names are looked through when the system cannot tell of changes.
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
    /// Belongs to the thread, and when that has ended to whoever has joined it.
    nonisolated(unsafe) private let follower: FileFollower

    /// `places`: the file in which it is kept how far files were read; nil: the next run reads them from their beginning. It is thrown when
    /// that file is one of a newer version, or cannot be read.
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
        follower = try FileFollower(name, plan, around, sink: sink) { [awake] in awake.raise() }
    }

    /// Begins to read, on a thread of its own.
    public func start() {
        let handle = ThreadHandle(Thread.start("files") { [self] in run() })
        phase.withLock { $0.thread = handle }
    }

    /// Reads no more; what was handed on is still answered.
    public func quiesce() {
        phase.withLock { $0.isStopping = true }
        awake.raise()
    }

    /// Ends, and writes down how far everything was answered.
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
        // An order to the first step, as if all names were new.
        var hasNews = true
        var nextWatch = Instant(nanoseconds: .min)
        var poll = plan.poll
        while !phase.withLock({ $0.isStopping }) {
            if hasNews || clock.now() >= nextWatch {
                // First watched and then looked through, so that nothing comes in between.
                poll = number >= 0 && watchFolders(number) ? plan.poll : min(plan.poll, FileSource.blindPoll)
                nextWatch = clock.now() + poll
            }
            hasNews = wait(watch.number, until: follower.step(names: hasNews, poll: poll))
        }
    }

    /// Whether the system told of changes.
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

    /// Watches the folders in which files may come; false: not all of them can be watched.
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
