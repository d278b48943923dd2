// Finds changes of files by inotify, however an editor makes them: in place, or by another file that takes the name. It watches the folders,
// waits until nothing happens in them for a moment, and compares the files with what they were before they were read. It serves `test --watch`
// and the reload of a configuration.

internal import CPlatform
internal import Glibc
public import Platform

public final class FileChanges {
    /// What counts as a change of a file.
    public enum Kind: Sendable {
        /// Any, also that it is missing now.
        case any
        /// That it is there, and is another one or has other contents. Between two steps of a replacement a file may be missing.
        case present
    }

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

    /// The most pauses that are waited for, so that a file that is written without end holds nothing up.
    private static let mostPauses = 50

    private let watch: Descriptor
    private let stop: WakeUp?
    private let kind: Kind
    /// For so many milliseconds nothing must happen before the files are compared.
    private let quiet: Int32
    private var folders: Set<String> = []
    private var marks: [(path: String, mark: Mark?)] = []

    /// `stop` ends the waiting. `quiet` is in milliseconds.
    public init(_ kind: Kind, stop: WakeUp?, quiet: Int32 = 100) throws(SystemFault) {
        let number = cplatform_watch()
        guard number >= 0 else { throw SystemFault() }
        watch = Descriptor(owning: number)
        self.stop = stop
        self.kind = kind
        self.quiet = quiet
    }

    /// The number of files that are noted.
    public var count: Int { marks.count }

    /// Forgets the files.
    public func begin() { marks = [] }

    /// Notes a file as it is now. Returns the fault if its folder cannot be watched.
    @discardableResult public func note(_ path: String) -> SystemFault? {
        if marks.contains(where: { $0.path.utf8.elementsEqual(path.utf8) }) { return nil }
        var fault: SystemFault?
        var paths = [path]
        // The file that a symbolic link leads to may lie elsewhere.
        if let target = realpath(path, nil) {
            paths.append(String(cString: target))
            free(target)
        }
        for path in paths {
            let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            if folders.insert(folder).inserted, cplatform_watch_files(watch.number, folder) != 0 {
                fault = SystemFault()
                folders.remove(folder)
            }
        }
        marks.append((path, Mark(path)))
        return fault
    }

    /// Waits for changes of the noted files and returns their paths. The next changes are those after this answer. Returns nil if it is told
    /// to end.
    public func next() throws(SystemFault) -> [String]? {
        while true {
            let changed = takeChanged()
            if !changed.isEmpty { return changed }
            guard try wait(-1) else { return nil }
            for _ in 0..<FileChanges.mostPauses {
                empty()
                var ready = pollfd(fd: watch.number, events: Int16(POLLIN), revents: 0)
                if poll(&ready, 1, quiet) == 0 { break }
            }
        }
    }

    private func takeChanged() -> [String] {
        var changed: [String] = []
        for index in marks.indices {
            let mark = Mark(marks[index].path)
            if mark == nil, kind == .present { continue }
            if mark == marks[index].mark { continue }
            marks[index].mark = mark
            changed.append(marks[index].path)
        }
        return changed
    }

    /// Waits until something happens in a folder. Returns false if it is told to end.
    private func wait(_ milliseconds: Int32) throws(SystemFault) -> Bool {
        var ready = [
            pollfd(fd: watch.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stop?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
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
