// Reports when a file has changed, however an editor or a deployment changes it: the file is written in place or replaced, or its symbolic
// link is replaced. It watches the folder, waits until nothing happens for a moment, and then compares the file that the name leads to.

internal import CPlatform
internal import Glibc
internal import Platform

final class FileWatch: Sendable {
    /// Identifies a state of a file.
    struct Mark: Equatable, Sendable {
        var device: UInt64
        var number: UInt64
        var size: Int64
        var seconds: Int64
        var nanoseconds: Int64

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            number = UInt64(status.st_ino)
            size = Int64(status.st_size)
            (seconds, nanoseconds) = withUnsafeBytes(of: status.st_mtim) { time in
                (time.load(as: Int64.self), time.load(fromByteOffset: 8, as: Int64.self))
            }
        }
    }

    /// How long nothing must happen in the folder before the file is compared.
    static let quiet = Duration.milliseconds(200)

    private let path: String
    /// The state when the watch began. The watch begins before the file is read, so that no change is missed.
    private let first: Mark?
    private let descriptor: Descriptor
    private let clock: Clock

    init(_ path: String, clock: Clock = .system) throws(SystemFault) {
        self.path = path
        self.clock = clock
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let number = cplatform_watch_folder(folder)
        guard number >= 0 else { throw SystemFault() }
        descriptor = Descriptor(owning: number)
        first = Mark(path)
    }

    /// Starts a thread that calls the body whenever the file exists and its state has changed.
    func start(_ changed: @escaping @Sendable () -> Void) {
        Thread.start("watch file") { [self] in
            var known = first
            var due: Instant?
            while true {
                var ready = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, due.map { Int32(clamping: max(0, ($0 - clock.now()).nanoseconds / 1_000_000 + 1)) } ?? -1)
                if ready.revents != 0 {
                    empty()
                    due = clock.now() + FileWatch.quiet
                } else if let moment = due, clock.now() >= moment {
                    due = nil
                    // Between two steps of a replacement the file may be missing. The second step causes another event.
                    guard let mark = Mark(path), mark != known else { continue }
                    known = mark
                    changed()
                }
            }
        }.detach()
    }

    private func empty() {
        var events = [UInt8](repeating: 0, count: 4096)
        while read(descriptor.number, &events, events.count) > 0 {}
    }
}
