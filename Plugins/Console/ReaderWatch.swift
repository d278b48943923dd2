// Notices when the reader of a pipe or socket leaves while nothing is written. Its thread sleeps in poll and wakes up only for this and for
// the end.

internal import CPlatform
internal import Glibc
internal import PluginKit

final class ReaderWatch: Sendable {
    private let ending: Int32
    private let thread: Monitor<Thread?>

    /// Returns nil for files and terminals, since they have no reader that could leave, and if there is no descriptor for the wake-up.
    /// `left` is called at most once.
    init?(_ descriptor: Int32, left: @escaping @Sendable () -> Void) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) else { return nil }
        let ending = cplatform_eventfd()
        guard ending >= 0 else { return nil }
        self.ending = ending
        thread = Monitor(
            Thread.start("console-watch") {
                // It requests no events: poll always reports errors and hang-ups.
                var entries = [pollfd(fd: descriptor, events: 0, revents: 0), pollfd(fd: ending, events: Int16(POLLIN), revents: 0)]
                while poll(&entries, 2, -1) < 0, errno == EINTR {}
                if entries[1].revents == 0, entries[0].revents != 0 { left() }
            })
    }

    /// Ends the thread and waits for it.
    func end() {
        var one: UInt64 = 1
        _ = write(ending, &one, MemoryLayout<UInt64>.size)
        let thread = self.thread.withLock { $0.take() }
        thread?.join()
        _ = Glibc.close(ending)
    }
}
