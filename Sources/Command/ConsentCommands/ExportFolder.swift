// A new folder for a copy of a person's data. It and its files are for its owner only. All names in it are constants, so no text of the data
// decides where something is written. The index comes last: a folder without it is not complete.

internal import Glibc
internal import Platform
internal import Terminal

final class ExportFolder {
    /// The files, in the order of the index.
    enum File: String, CaseIterable {
        case consent = "consent.ndjson"
        case withdrawals = "withdrawals.ndjson"
        case waiting = "waiting-events.ndjson"
        case held = "held-events.ndjson"
        case deadLetters = "dead-letters.ndjson"
        case providers = "providers.ndjson"
        case other = "other.ndjson"
    }

    static let index = "index.txt"
    private static let draft = ".index.txt"

    let path: String
    private let folder: Descriptor
    /// True if this process has made the folder.
    private let isMade: Bool
    private var files: [File: Int32] = [:]

    /// Makes the folder, or takes an empty one of the same user. `state` is the state folder, which must not contain it.
    init(_ path: String, state: String) throws {
        // A slash at the end would follow a symbolic link.
        var path = path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        let shown = printable(path)
        isMade = mkdir(path, 0o700) == 0
        if !isMade, errno != EEXIST { throw UsageFault("--export: \(shown) cannot be made: \(SystemFault()); its parent must be there") }
        let number = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else {
            let reason = errno == ELOOP || errno == ENOTDIR ? "is no folder" : "cannot be opened: \(SystemFault())"
            throw UsageFault("--export: \(shown) \(reason); name a folder that is not there yet")
        }
        folder = Descriptor(owning: number)
        do {
            try check(shown, state: state)
        } catch {
            if isMade { rmdir(path) }
            throw error
        }
    }

    deinit { for number in files.values { close(number) } }

    private func check(_ shown: String, state: String) throws {
        var status = stat()
        guard fstat(folder.number, &status) == 0 else { throw StateFailure("\(shown): \(SystemFault())") }
        guard status.st_uid == geteuid() else {
            throw UsageFault(
                "--export: \(shown) belongs to another user (uid \(status.st_uid)), who could read the copy; name another folder")
        }
        guard isEmpty else { throw UsageFault("--export: \(shown) is not empty; name a folder that is not there yet") }
        guard fchmod(folder.number, 0o700) == 0 else { throw StateFailure("\(shown): \(SystemFault())") }
        if isInside(state) {
            throw UsageFault("--export: \(shown) is in the state folder, where a withdrawal would not find the copy; name another folder")
        }
    }

    /// True if the folder is a state folder, or below it.
    private func isInside(_ state: String) -> Bool {
        var around = stat()
        guard stat(state, &around) == 0 else { return false }
        var outer = openat(folder.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if outer >= 0 { close(outer) } }
        while outer >= 0 {
            var here = stat()
            guard fstat(outer, &here) == 0 else { return false }
            if here.st_dev == around.st_dev, here.st_ino == around.st_ino { return true }
            let above = openat(outer, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            var next = stat()
            let isTop = above >= 0 && fstat(above, &next) == 0 && next.st_dev == here.st_dev && next.st_ino == here.st_ino
            close(outer)
            outer = above
            if isTop { return false }
        }
        return false
    }

    private var isEmpty: Bool {
        let number = openat(folder.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0, let handle = fdopendir(number) else { return false }
        defer { closedir(handle) }
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
            if name != ".", name != ".." { return false }
        }
        return true
    }

    /// Appends whole lines to a file. The file is made with its first line.
    func append(_ lines: some Collection<UInt8>, to file: File) throws(StateFailure) {
        if files[file] == nil { files[file] = try make(file.rawValue) }
        guard let number = files[file] else { preconditionFailure("a file was made and is not there") }
        try write(Array(lines), to: number, file.rawValue)
    }

    /// Writes the index, when everything else is on disk.
    func finish(index: String) throws(StateFailure) {
        for (file, number) in files where fsync(number) != 0 { throw fault(file.rawValue) }
        let number = try make(ExportFolder.draft)
        defer { close(number) }
        try write(Array(index.utf8), to: number, ExportFolder.index)
        guard fsync(number) == 0, renameat(folder.number, ExportFolder.draft, folder.number, ExportFolder.index) == 0,
            fsync(folder.number) == 0
        else { throw fault(ExportFolder.index) }
    }

    /// Removes what was written, after a failure.
    func remove() {
        for name in files.keys.map(\.rawValue) + [ExportFolder.draft, ExportFolder.index] { unlinkat(folder.number, name, 0) }
        if isMade { rmdir(path) }
    }

    private func make(_ name: String) throws(StateFailure) -> Int32 {
        let number = openat(folder.number, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw fault(name) }
        return number
    }

    private func write(_ bytes: [UInt8], to number: Int32, _ name: String) throws(StateFailure) {
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(SystemFault) in try writeAll(number, bytes) } }
        if case .failure(let reason) = result { throw fault(name, reason) }
    }

    private func fault(_ name: String, _ reason: SystemFault = SystemFault()) -> StateFailure {
        StateFailure("\(printable(path))/\(name) cannot be written: \(reason)")
    }
}
