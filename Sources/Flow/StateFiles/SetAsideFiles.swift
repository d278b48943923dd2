// The damaged copies of queues, held events and dead letters in a state folder. They were set aside for a person, with everything that was in
// them. Nobody can tell whose events a damaged row holds, and a row that reads well may be a copy of one that is gone. So a withdrawal
// destroys them as a whole: in doubt, consent denies.

internal import Glibc
public import Platform

public struct SetAsideFiles {
    private let folder: String
    /// The names of the files, sorted.
    public let names: [String]

    public init(in folder: String) {
        self.folder = folder
        var found: [String] = []
        if let handle = opendir(folder) {
            defer { closedir(handle) }
            while let entry = readdir(handle) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
                if SetAsideFiles.mayHoldEvents(name) { found.append(name) }
            }
        }
        names = found.sorted()
    }

    /// True for a damaged copy of a file with events, or of its log. `message-ids`, the ledger and the places of files hold no events.
    static func mayHoldEvents(_ name: String) -> Bool {
        guard let at = name.range(of: ".sqlite.damaged-") else { return false }
        let base = name[..<at]
        return base.hasPrefix("spool-") || base == "held" || base == "dead-letters"
    }

    /// Overwrites and removes the files, and says so for each. Returns the faults. A file with a fault may still be there.
    public func destroy(_ say: (String) -> Void) -> [StorageFault] {
        var faults: [StorageFault] = []
        for name in names {
            let path = folder + "/" + name
            do throws(StorageFault) {
                let bytes = try SetAsideFiles.overwrite(path)
                guard unlink(path) == 0 || errno == ENOENT else {
                    throw StorageFault(.failed, "\(path): cannot be removed: \(SystemFault())")
                }
                say(
                    "\(printable(path)): was destroyed (\(grouped(bytes)) bytes), since it was set aside as damaged and may hold "
                        + "withdrawn events")
            } catch {
                faults.append(error)
            }
        }
        return faults
    }

    /// Writes zeros over all bytes of a file, and returns their number. A link, a folder or another special file is left as it is.
    private static func overwrite(_ path: String) throws(StorageFault) -> Int {
        let file = Descriptor(owning: open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW))
        var status = stat()
        guard file.number >= 0, fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            if errno == ENOENT { return 0 }
            throw StorageFault(.failed, "\(path): was set aside as damaged and cannot be overwritten: \(SystemFault())")
        }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var at = 0
        let size = Int(status.st_size)
        while at < size {
            let count = pwrite(file.number, zeros, min(zeros.count, size - at), off_t(at))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw StorageFault(.failed, "\(path): cannot be overwritten: \(SystemFault())") }
            at += count
        }
        guard fsync(file.number) == 0 else { throw StorageFault(.failed, "\(path): cannot be overwritten: \(SystemFault())") }
        return size
    }
}

extension String {
    /// Returns the first place of a text in the string.
    fileprivate func range(of text: String) -> String.Index? {
        var at = startIndex
        while at < endIndex {
            if self[at...].hasPrefix(text) { return at }
            at = index(after: at)
        }
        return nil
    }
}
