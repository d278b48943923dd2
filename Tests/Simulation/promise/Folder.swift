// A state folder. Its files can be copied while they are open, which gives the state after a kill.

import Glibc
import Platform

final class Folder {
    let path: String

    static let root: String = {
        let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        return "\(base)/switchyard-promise-\(getpid())"
    }()

    init(_ name: String) {
        mkdir(Folder.root, 0o700)
        path = Folder.root + "/" + name
        mkdir(path, 0o700)
    }

    deinit {
        for file in files { unlink(path + "/" + file) }
        rmdir(path)
    }

    var files: [String] {
        guard let handle = opendir(path) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    static func contents(of path: String) -> [UInt8] {
        let file = Descriptor(owning: open(path, O_RDONLY | O_CLOEXEC))
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_size > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            count = max(0, read(file.number, buffer.baseAddress, buffer.count))
        }
    }

    func write(_ name: String, _ bytes: [UInt8]) {
        let target = Descriptor(owning: open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600))
        _ = bytes.withUnsafeBytes { Glibc.write(target.number, $0.baseAddress, $0.count) }
    }

    /// Removes a file and returns its contents.
    func take(_ name: String) -> [UInt8] {
        defer { unlink(path + "/" + name) }
        return Folder.contents(of: path + "/" + name)
    }

    /// Copies the files as they are.
    func copy(to name: String) -> Folder {
        let copy = Folder(name)
        for file in files {
            let bytes = Folder.contents(of: path + "/" + file)
            let target = Descriptor(owning: open(copy.path + "/" + file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
            _ = bytes.withUnsafeBytes { Glibc.write(target.number, $0.baseAddress, $0.count) }
        }
        return copy
    }

    /// Finds one of these events in the files by its token, and returns the event and the file.
    func finds(_ events: Set<Int>) -> (event: Int, file: String)? {
        guard !events.isEmpty else { return nil }
        for file in files {
            if let event = Folder.contents(of: path + "/" + file).first(of: events) { return (event, file) }
        }
        return nil
    }
}

extension [UInt8] {
    /// Returns the first of the events whose token is in the bytes. A token is `note-`, the number of the event, and a dot.
    fileprivate func first(of events: Set<Int>) -> Int? {
        let mark = Array("note-".utf8)
        return withUnsafeBytes { all in
            var at = 0
            while let found = memchr(all.baseAddress! + at, Int32(mark[0]), all.count - at) {
                at = UnsafeRawPointer(found) - all.baseAddress! + 1
                guard all.count - at >= mark.count + 8, memcmp(found, mark, mark.count) == 0 else { continue }
                var end = at - 1 + mark.count
                var number = 0
                while end < all.count, all[end] >= 0x30, all[end] <= 0x39, number < 1_000_000 {
                    number = number * 10 + Int(all[end] - 0x30)
                    end += 1
                }
                if end < all.count, all[end] == UInt8(ascii: "."), events.contains(number) { return number }
            }
            return nil
        }
    }
}
