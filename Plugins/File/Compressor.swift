// Compresses a finished file in its own folder. It writes to a temporary name, renames the complete file to its final name, and only then
// removes the plain file.

internal import Glibc
internal import PluginKit

struct Compressor {
    /// The suffix of the temporary name. The next start removes temporary files that a crash left.
    static let partial = ".partial"
    private static let chunk = 131_072

    let method: FileRules.Compression
    let system: FileSystem

    init(_ method: FileRules.Compression, _ system: FileSystem) {
        self.method = method
        self.system = system
    }

    /// Compresses one file. `isCurrent` returns true if the file has become the current one again, because late events arrived. If the
    /// compressed file cannot be made durable, the function throws and the plain file stays.
    func compress(_ finished: String, synchronize: Bool, isCurrent: () -> Bool) throws(FileFault) {
        let input = again { open(finished, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY) }
        if input == -ENOENT { return }
        guard input >= 0 else { throw FileFault("cannot open", path: finished, code: -input) }
        defer { close(input) }
        // No writer appends meanwhile: a writer waits for the lock, then finds the file removed and makes a new one.
        _ = again { flock(input, LOCK_EX) }
        if isCurrent() { return }
        guard let status = FileStatus(descriptor: input), FileStatus(path: finished)?.identity == status.identity else { return }

        var path = finished
        if FileStatus(path: path + method.suffix, followingLinks: false) != nil {
            // Late events created a file again that was compressed before.
            path = RotatedName.free(for: finished, at: Int64(status.modified.tv_sec) * 1_000_000_000)
            let renamed = again { rename(finished, path) }
            guard renamed == 0 else { throw FileFault("cannot rename", path: finished, code: -renamed) }
        }
        let temporary = path + method.suffix + Compressor.partial
        // Remove the old file and create a new one, so that a file that another user placed there is never written to.
        unlink(temporary)
        let output = again { open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        guard output >= 0 else { throw FileFault("cannot open", path: temporary, code: -output) }
        defer { close(output) }
        do throws(FileFault) {
            try copy(from: input, at: path, to: output, at: temporary)
            fchmod(output, status.mode)
            _ = withUnsafePointer(to: (status.modified, status.modified)) {
                $0.withMemoryRebound(to: timespec.self, capacity: 2) { futimens(output, $0) }
            }
            if synchronize {
                let result = again { fsync(output) }
                guard result == 0 else { throw FileFault("cannot sync", path: temporary, code: -result) }
            }
            let renamed = again { rename(temporary, path + method.suffix) }
            guard renamed == 0 else { throw FileFault("cannot rename", path: temporary, code: -renamed) }
        } catch {
            unlink(temporary)
            throw error
        }
        // The new name must be durable before the plain file is removed.
        if synchronize {
            let result = system.synchronizeFolder(path)
            guard result >= 0 else {
                unlink(path + method.suffix)
                throw FileFault("cannot sync the folder of", path: path + method.suffix, code: -result)
            }
        }
        unlink(path)
    }

    private func copy(from input: Int32, at source: String, to output: Int32, at target: String) throws(FileFault) {
        guard let encoder = method.encoder else { return }
        var plain = [UInt8](repeating: 0, count: Compressor.chunk)
        var packed = [UInt8](repeating: 0, count: Compressor.chunk)
        while true {
            let count = plain.withUnsafeMutableBytes { bytes in again { Int32(clamping: read(input, bytes.baseAddress, bytes.count)) } }
            guard count >= 0 else { throw FileFault("cannot read", path: source, code: -count) }
            var taken = 0
            var done = false
            repeat {
                let made = plain[taken..<Int(count)].withUnsafeBytes { from in
                    packed.withUnsafeMutableBytes { encoder.encode(from, into: $0, last: count == 0) }
                }
                guard let made else { throw FileFault("cannot compress", path: source, code: EIO) }
                assert(made.taken <= Int(count) - taken && made.written <= packed.count, "the encoder read or wrote more than it was given")
                taken += made.taken
                done = made.done
                try Compressor.write(packed[..<made.written], to: output, at: target)
            } while !done
            assert(taken == Int(count), "a part of the file was not compressed")
            if count == 0 { return }
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to output: Int32, at path: String) throws(FileFault) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { from in again { Int32(clamping: Glibc.write(output, from.baseAddress, from.count)) } }
            guard count > 0 else { throw FileFault("cannot write to", path: path, code: count < 0 ? -count : EIO) }
            rest = rest.dropFirst(Int(count))
        }
    }
}
