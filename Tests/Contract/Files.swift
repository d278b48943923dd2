// Reading and removing files with system calls only, so that the contract is a small program without Foundation.

import Glibc
import Platform

enum Files {
    static var currentFolder: String {
        guard let path = getcwd(nil, 0) else { return "." }
        defer { free(path) }
        return String(cString: path)
    }

    /// Returns the bytes of a file from an offset on.
    static func contents(_ path: String, from offset: Int = 0) throws(SystemFault) -> [UInt8] {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemFault() }
        let file = Descriptor(owning: number)
        if offset > 0, lseek(file.number, off_t(offset), SEEK_SET) < 0 { throw SystemFault() }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(file.number, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 { bytes += chunk[..<count] } else if errno != EINTR { throw SystemFault() }
        }
    }

    /// Returns the names in a folder. It uses only system calls that keep no memory, so that the measurements of a leak can use it.
    static func names(_ folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Calls `visit` with the path below `folder` and the state of each entry, a folder before its contents.
    static func walk(_ folder: String, below prefix: String = "", _ visit: (String, stat) -> Void) {
        for name in names(folder) {
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0 else { continue }
            visit(prefix + name, status)
            if status.st_mode & S_IFMT == S_IFDIR { walk("\(folder)/\(name)", below: "\(prefix)\(name)/", visit) }
        }
    }

    /// Removes a folder with its contents.
    static func remove(_ folder: String) {
        for name in names(folder) where unlink("\(folder)/\(name)") != 0 { remove("\(folder)/\(name)") }
        rmdir(folder)
    }

    /// Returns the target of a symbolic link.
    static func target(_ link: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { readlink(link, $0.baseAddress!, $0.count) }
        }
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}
