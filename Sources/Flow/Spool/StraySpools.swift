// The spools of a state folder that no lane has open: of a provider that is gone, that has no queue on disk any more, or that a person moved
// there. A withdrawal reaches them too. A lane that opens its spool meanwhile waits until the sweep has closed that file.

public import Admission
public import ConsentGate
public import Platform
internal import StateFiles

public final class StraySpools: Sendable {
    private let folder: String
    private let names: RunNames
    private let options: SpoolFile.Options
    private let say: @Sendable (String) -> Void
    /// The providers whose spool is open. Whoever opens a spool or sweeps a stray one has the lock.
    private let open = Monitor<Set<String>>([])

    /// `options` are those with which strays are opened.
    public init(folder: String, names: RunNames, options: SpoolFile.Options, say: @escaping @Sendable (String) -> Void) {
        self.folder = folder
        self.names = names
        self.options = options
        self.say = say
    }

    /// Opens the spool of a provider for its lane. It is a stray again when the lane has closed it.
    public func openSpool(of provider: String, options: SpoolFile.Options) throws(StorageFault) -> SpoolFile {
        var options = options
        options.onClose = { [weak self] in self?.open.withLock { _ = $0.remove(provider) } }
        return try open.withLock { (open) throws(StorageFault) in
            let file = try SpoolFile(path: StateFolder.spool(of: provider, in: folder), names: names, options: options, say: say)
            open.insert(provider)
            return file
        }
    }

    /// Notes that the spool of a provider is open, so that it is no stray.
    func use(_ provider: String) { open.withLock { _ = $0.insert(provider) } }

    /// The result of a sweep: what was destroyed in a file so far, and whether something could not be searched or destroyed.
    public struct Result: Sendable, Equatable {
        public var destroyed = Destroyed()
        public var isCut = false
    }

    /// Destroys the events that the check refuses in every stray spool. With `isForWithdrawal` it also destroys damaged batches and all that
    /// was set aside as damaged. Returns what was destroyed, by place.
    public func sweep(_ check: SecondCheck, isForWithdrawal: Bool) -> [String: Result] {
        var places: [String: Result] = [:]
        for provider in StateFolder.spools(in: folder) {
            let sweep = RetentionSweep(check, isForWithdrawal: isForWithdrawal)
            let swept = open.withLock { open in open.contains(provider) ? nil : self.sweep(provider, sweep) }
            if let swept { places["queue of \(provider)"] = swept }
        }
        for fault in isForWithdrawal ? SetAsideFiles(in: folder).destroy(say) : [] {
            say(fault.description)
            places["files set aside", default: Result()].isCut = true
        }
        return places
    }

    private func sweep(_ provider: String, _ sweep: RetentionSweep) -> Result {
        var result = Result()
        do throws(StorageFault) {
            let file = try SpoolFile(path: StateFolder.spool(of: provider, in: folder), names: names, options: options, say: say)
            defer { file.close() }
            var row: Int64? = 0
            while let from = row { row = try file.sweep(after: from, sweep).next }
            try file.tidy()
            try file.clearGaps()
            result.destroyed = file.contents.destroyed
            if let loss = file.takeLoss() { say(loss.words) }
        } catch {
            say(
                "the queue of \(printable(provider)) has no lane, and a withdrawal could not search it: \(error); the next start tries again"
            )
            result.isCut = true
        }
        return result
    }
}
