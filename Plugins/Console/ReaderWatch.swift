// Notices that the reader of a pipe or socket has left while nothing is written. It sleeps in poll and never wakes up otherwise.

internal import CPlatform
internal import Glibc
internal import PluginKit

final class ReaderWatch: Sendable {
    private let ending: Int32
    private let thread: Monitor<Thread?>

    /// Nil for files and terminals, which have no reader that could leave. `left` is called at most once.
    init?(_ descriptor: Int32, left: @escaping @Sendable () -> Void) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT) else { return nil }
        let ending = cplatform_eventfd()
        guard ending >= 0 else { return nil }
        self.ending = ending
        thread = Monitor(
            Thread.start("console-watch") {
                // No events are asked for: errors and hang-ups are always reported.
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
