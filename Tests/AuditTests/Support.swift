// Folders, keys and trails for the tests.

import Audit
import Glibc
import MerkleLog
import Platform
import Testing

/// A folder of its own for a test, which is removed with it.
final class Folder: Sendable {
    let path: String

    init() {
        var template = Array(((getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp") + "/audit-XXXXXX").utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    deinit { Folder.remove(path) }

    /// The paths of all files in it.
    var files: [String] { Folder.files(path).sorted() }

    static func files(_ folder: String) -> [String] {
        names(folder).flatMap { name -> [String] in
            let path = folder + "/" + name
            var status = stat()
            return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? files(path) : [path]
        }
    }

    static func names(_ folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private static func remove(_ folder: String) {
        for path in files(folder) { unlink(path) }
        for name in names(folder) { remove(folder + "/" + name) }
        rmdir(folder)
    }
}

func read(_ path: String) -> [UInt8] {
    let number = open(path, O_RDONLY)
    guard number >= 0 else { return [] }
    defer { close(number) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = Glibc.read(number, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
    return bytes
}

func write(_ path: String, _ bytes: [UInt8]) {
    let number = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(number) }
    _ = Glibc.write(number, bytes, bytes.count)
}

let testKeys = AuditKeys(Array("a secret for the audit trail".utf8), origin: "example.com/trail")

/// A trail that does not sync.
func makeTrail(_ folder: Folder, keys: AuditKeys = testKeys) throws -> Trail {
    var options = Trail.Options()
    options.syncs = false
    return try Trail(folder.path, keys: keys, options: options)
}

/// Entries of various lengths, the first with this number.
func someEntries(_ count: Int, from first: Int = 0) -> [[UInt8]] {
    (first..<first + count).map {
        Array(#"{"kind":"access","number":\#($0),"more":"\#(String(repeating: "x", count: $0 * 7 % 60))"}"#.utf8)
    }
}

func verified(_ folder: Folder, kept: [UInt8]? = nil, keys: AuditKeys = testKeys) throws -> TrailFindings {
    try TrailVerification.run(folder.path, keys: keys.all, kept: kept.map { ($0, "kept") })
}
