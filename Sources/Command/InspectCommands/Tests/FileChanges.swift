// Finds changes of files by inotify, however an editor makes them: in place, or by another file that takes the name. It watches the folders,
// waits until nothing happens in them for a moment, and compares the files with what they were before they were read.

internal import CPlatform
internal import Glibc
internal import Platform

final class FileChanges: ChangeSource {
    /// Identifies a state of a file. It is nil in `marks` for a file that is missing.
    private struct Mark: Equatable {
        let device: UInt64
        let number: UInt64
        let size: Int64
        let seconds: Int64
        let nanoseconds: Int64

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, number, size) = (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
            (seconds, nanoseconds) = (Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec))
        }
    }

    /// The most pauses that are waited for, so that a file that is written without end does not hold up the tests.
    private static let mostPauses = 50

    private let watch: Descriptor
    private let stop: WakeUp
    /// For so many milliseconds nothing must happen before the files are compared.
    private let quiet: Int32
    private var folders: Set<String> = []
    private var marks: [(path: String, mark: Mark?)] = []

    init(stop: WakeUp, quiet: Int32 = 100) throws(SystemFault) {
        let number = cplatform_watch()
        guard number >= 0 else { throw SystemFault() }
        watch = Descriptor(owning: number)
        self.stop = stop
        self.quiet = quiet
    }

    var count: Int { marks.count }

    func begin() { marks = [] }

    func note(_ path: String) {
        if marks.contains(where: { $0.path.utf8.elementsEqual(path.utf8) }) { return }
        var paths = [path]
        // The file that a symbolic link leads to may lie elsewhere.
        if let target = realpath(path, nil) {
            paths.append(String(cString: target))
            free(target)
        }
        for path in paths {
            let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            if folders.insert(folder).inserted, cplatform_watch_files(watch.number, folder) != 0 { folders.remove(folder) }
        }
        marks.append((path, Mark(path)))
    }

    func next() throws(SystemFault) -> [String]? {
        while true {
            let changed = marks.filter { $0.mark != Mark($0.path) }.map(\.path)
            if !changed.isEmpty { return changed }
            guard try wait(-1) else { return nil }
            for _ in 0..<FileChanges.mostPauses {
                empty()
                var ready = pollfd(fd: watch.number, events: Int16(POLLIN), revents: 0)
                if poll(&ready, 1, quiet) == 0 { break }
            }
        }
    }

    /// Waits until something happens in a folder. Returns false if it is told to end.
    private func wait(_ milliseconds: Int32) throws(SystemFault) -> Bool {
        var ready = [
            pollfd(fd: watch.number, events: Int16(POLLIN), revents: 0), pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&ready, 2, milliseconds) < 0 {
            if errno != EINTR { throw SystemFault() }
        }
        return ready[1].revents == 0
    }

    private func empty() {
        var events = [UInt8](repeating: 0, count: 4096)
        while read(watch.number, &events, events.count) > 0 {}
    }
}
