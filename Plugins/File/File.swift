// The provider `file`: appends NDJSON to a file, a device or a FIFO. It promises to cut off, continue or end a torn line before the next
// event is written. A batch that is not completely written is delivered again. Only the arrival time decides into which file an event goes.
// An erasure rewrites the files without the events of its subjects.

internal import Glibc
public import PluginKit
internal import Synchronization

/// It is `Sendable` for erasures only, whose thread uses nothing but `erasing`. The host calls everything else from one thread at a time.
final class FileProvider: Provider, SubjectEraser, @unchecked Sendable {
    static let description: Description = {
        var description = Description(
            name: "file", version: "0.1.0", summary: "Appends events to a file, a device or a FIFO, and rotates files.",
            settings: FileRules.schema,
            // The path can be /dev/stdout.
            writesToStreams: true, delivery: Description.Delivery(ordered: true))
        description.byHand = "Remove the person's lines from the files, and from every copy that another program has made of them."
        return description
    }()

    private let rules: FileRules
    private let writer: Writer
    private let erasing: ErasureWork
    private let reopening = Atomic(false)

    convenience init(settings: Settings, host: Host) throws {
        try self.init(settings: settings, host: host, system: .system)
    }

    init(settings: Settings, host: Host, system: FileSystem) throws {
        rules = try FileRules(settings)
        // Whoever rewrites, compresses or removes files has them to itself.
        let files = Monitor(OwnFiles(template: rules.template))
        writer = Writer(rules, host: host, system: system, files: files)
        let erasure = FileErasure(rules: rules, host: host, system: system)
        erasing = ErasureWork { subjects, isStopped in files.withLock { erasure.run(subjects, in: $0, isStopped: isStopped) } }
    }

    func deliver(_ batch: borrowing Batch) -> Outcome {
        if reopening.exchange(false, ordering: .acquiring) { writer.close() }
        var done = 0
        while done < batch.count {
            let (path, end) = run(of: batch, from: done)
            assert(done < end && end <= batch.count, "a run of events is empty, or goes beyond the batch")
            let (lines, fault) = writer.write(batch.lines[done..<end], to: path)
            assert(fault != nil || lines == end - done, "an event was not written, and there is no reason")
            done += lines
            if let fault { return .partly(delivered: done, rest: .retry(code: Int(fault.code), fault.message)) }
        }
        return .delivered
    }

    /// Returns the path for the event at `start`, and the end of the run of events with the same path.
    private func run(of batch: borrowing Batch, from start: Int) -> (path: String, end: Int) {
        var second = FileProvider.second(batch.arrivals[start])
        let path = rules.template.path(at: second)
        guard rules.template.hasFields else { return (path, batch.count) }
        var end = start + 1
        while end < batch.count {
            let next = FileProvider.second(batch.arrivals[end])
            if next != second, rules.template.path(at: next) != path { break }
            second = next
            end += 1
        }
        return (path, end)
    }

    private static func second(_ nanoseconds: Int64) -> Int64 { nanoseconds / 1_000_000_000 }

    func flush() -> Outcome {
        guard rules.sync != .never, let fault = writer.synchronize() else { return .delivered }
        return .retry(code: Int(fault.code), fault.message)
    }

    func reopen() { reopening.store(true, ordering: .releasing) }

    func erase(_ erasure: Erasure) -> Erasure.Answer { erasing.answer(erasure) }

    func close() {
        erasing.end()
        writer.end()
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(FileProvider.self) }
