// Verifies the rows of verdicts that a bundle of entries names. Almost all bytes of a trail are rows, and each block of rows is verified
// without the others, so several threads share the blocks. The results come in the order of the blocks, whichever thread made them.

internal import Glibc
internal import MerkleLog
internal import Platform

/// What became of a block of rows.
enum RowResult: Sendable, Equatable {
    case whole
    /// The rows are missing or cut off.
    case missing
    case changed
    /// The file cannot be read.
    case failed(StorageFault)
}

enum RowVerification {
    /// A thread takes about as long to start as this many bytes take to verify.
    private static let worthThread = 64 << 10

    /// Returns the result of each block, in order. At most this many threads work at the same time, with the calling one.
    static func results(_ places: [VerdictPlace], _ files: TrailFiles, threads most: Int = processors) -> [RowResult] {
        let bytes = places.reduce(0) { $0 + min($1.bytes, VerdictFiles.largest) }
        let threads = min(most, places.count, 1 + bytes / worthThread)
        let shared = Monitor(Progress(results: Array(repeating: .whole, count: places.count)))
        let work: @Sendable () -> Void = {
            while let index = shared.withLock({ $0.take() }) {
                let result = result(places[index], files)
                if result != .whole { shared.withLock { $0.results[index] = result } }
            }
        }
        share(work, threads)
        return shared.withLock { $0.results }
    }

    /// Runs the body on this many threads, of which the calling one is the last. Returns when all have ended.
    private static func share(_ body: @escaping @Sendable () -> Void, _ threads: Int) {
        guard threads > 1 else { return body() }
        let thread = Thread.start("verify rows", body)
        share(body, threads - 1)
        thread.join()
    }

    private static func result(_ place: VerdictPlace, _ files: TrailFiles) -> RowResult {
        do throws(StorageFault) {
            guard let rows = try VerdictFiles.rows(place, files.verdicts(place.file)) else { return .missing }
            return StrictBase64.encode(VerdictFiles.root(rows, width: place.width).bytes) == place.root ? .whole : .changed
        } catch {
            return .failed(error)
        }
    }

    private static var processors: Int { max(1, min(32, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

    private struct Progress {
        var results: [RowResult]
        var next = 0

        mutating func take() -> Int? {
            guard next < results.count else { return nil }
            next += 1
            return next - 1
        }
    }
}
