// Keeps the recent message ids over restarts. It stores the ids that `SeenIDs` has seen, once their events are stored or delivered as the
// configuration promises. Two files alternate, so that neither grows without limit. An incomplete record at the end, as a kill leaves it,
// is skipped. The files contain hashes, never ids.

internal import Glibc
internal import Judging
internal import Platform

final class SeenFile: Sendable {
    private struct State: ~Copyable {
        var file: Descriptor?
        var count = 0
        var hasFailed = false
    }

    private static let size = MemoryLayout<SeenIDs.Sighting>.size
    private let path: String
    private let most: Int
    private let say: @Sendable (String) -> Void
    private let state = Monitor(State())

    /// A file with `most` ids is replaced by a new one. `most` is the number of ids that are remembered.
    init(_ path: String, most: Int, say: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.most = most
        self.say = say
    }

    /// Returns the ids that earlier runs left, oldest first.
    func recall() -> [SeenIDs.Sighting] {
        let old = read(path + ".old")
        let new = read(path)
        state.withLock { $0.count = new.count }
        return old + new
    }

    private func read(_ path: String) -> [SeenIDs.Sighting] {
        let number = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return [] }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        guard fstat(number, &status) == 0 else { return [] }
        // An earlier run may have remembered more ids. The newest are at the end.
        let all = Int(status.st_size) / SeenFile.size
        let count = min(all, 2 * most)
        guard lseek(number, off_t((all - count) * SeenFile.size), SEEK_SET) >= 0 else { return [] }
        return [SeenIDs.Sighting](unsafeUninitializedCapacity: max(1, count)) { buffer, filled in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            precondition(bytes.count >= count * SeenFile.size, "the ids do not fit into their memory")
            var at = 0
            while at < count * SeenFile.size {
                let n = Glibc.read(descriptor.number, bytes.baseAddress! + at, count * SeenFile.size - at)
                if n < 0, errno == EINTR { continue }
                if n <= 0 { break }
                at += n
            }
            filled = at / SeenFile.size
            assert(filled <= count, "more ids were read than the file has")
        }
    }

    /// Adds ids whose events are safe. Ids that cannot be written are remembered for this run only.
    func append(_ sightings: [SeenIDs.Sighting]) {
        guard !sightings.isEmpty else { return }
        let fault = state.withLock { state -> SystemFault? in
            do throws(SystemFault) {
                if state.count >= most, rename(path, path + ".old") == 0 {
                    state.file = nil
                    state.count = 0
                }
                if state.file == nil { state.file = try open() }
                try sightings.withUnsafeBufferPointer { (all) throws(SystemFault) in
                    try state.file?.write(UnsafeRawBufferPointer(all))
                }
                state.count += sightings.count
                state.hasFailed = false
                return nil
            } catch {
                // When it is opened again, it is truncated to whole records.
                state.file = nil
                defer { state.hasFailed = true }
                return state.hasFailed ? nil : error
            }
        }
        if let fault { say("\(path): message ids cannot be kept: \(fault); after a restart some duplicates may pass") }
    }

    private func open() throws(SystemFault) -> Descriptor {
        let number = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw SystemFault() }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemFault() }
        let torn = Int(status.st_size) % SeenFile.size
        if torn != 0, ftruncate(number, status.st_size - torn) != 0 { throw SystemFault() }
        return descriptor
    }
}
