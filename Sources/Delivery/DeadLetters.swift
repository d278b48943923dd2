// Where events go that are given up, with the provider's answer. The file is made, for its owner alone, when the first event
// comes. It never holds settings or secrets.

public import Platform
public import Policy
public import Spool

public final class DeadLetters: Sendable {
    public let path: String
    private let cipher: Cipher?
    private let levels: RunNames
    private let clock: Clock
    private let warn: @Sendable (String) -> Void
    private let divert: Divert?
    private let state = Monitor(State())

    fileprivate struct State {
        var file: DeadLetterFile?
        /// Told when the oldest event came in of those that were buried, in nanoseconds since 1970.
        var onBurial: (@Sendable (Int64) -> Void)?
        /// Whether letters were removed that the file's log may still hold.
        var isUntidy = false
        /// By provider, what was told last of events that cannot be kept; the same is not told again until some could be.
        var told: [String: Trouble] = [:]
        /// Whether events may still be kept; nil: nobody asks.
        var check: SecondCheck?
        /// What was destroyed instead of being kept, since the last sweep.
        var refused = Swept()
    }

    fileprivate struct Trouble {
        var kind: SpoolFault.Kind
        var isLoss: Bool
        /// How many events were lost since it began.
        var lost = 0
    }

    /// Takes what is given up instead of the file; how many could not be kept.
    public typealias Divert = @Sendable (Batch) -> Int

    /// `warn` is told, in words for a person, when events cannot be kept.
    /// `levels`: the names of the levels that events were admitted under.
    public init(
        path: String, cipher: Cipher? = nil, levels: RunNames = RunNames(), clock: Clock, divert: Divert? = nil,
        warn: @escaping @Sendable (String) -> Void
    ) {
        self.levels = levels
        self.path = path
        self.divert = divert
        self.cipher = cipher
        self.clock = clock
        self.warn = warn
    }

    /// From now on only what may still go is kept: who withdraws while an event is on its way here is asked for under the lock of the file,
    /// so that the event is either swept or not written.
    public func guarded(by check: SecondCheck) { state.withLock { $0.check = check } }

    /// Keeps the events of a batch; how many could not be kept, and why. `isLost`: they are lost then; otherwise the lane waits.
    func bury(
        _ batch: Batch, provider: String, routes: [String], reason: LaneAccount.Fate, _ answer: Answer, attempts: Int, isLost: Bool
    ) -> (lost: Int, fault: SpoolFault?) {
        if let divert { return (divert(batch), nil) }
        return state.withLock { state in
            guard let kept = state.allowed(of: batch) else { return (0, nil) }
            do throws(SpoolFault) {
                // One that was removed is made anew: what a person takes away is meant to be gone.
                if let file = state.file, !file.isInPlace { state.file = nil }
                if state.file == nil { state.file = try open() }
                try state.file?.bury(
                    kept, at: clock.wall(), provider: provider, routes: routes, levels: levels.all, reason: reason.rawValue,
                    code: answer.code, answer: answer.message, attempts: attempts)
                for (provider, trouble) in state.told.sorted(by: { $0.key < $1.key }) { warn(DeadLetters.words(provider, over: trouble)) }
                state.told = [:]
                if let oldest = batch.entries.map(\.arrival).min() { state.onBurial?(oldest) }
                return (0, nil)
            } catch {
                // It may have been moved away, or may be there again.
                state.file = nil
                let before = state.told[provider]
                if before?.kind != error.kind || before?.isLoss != isLost {
                    let rest =
                        isLost
                        ? "events lost: \(grouped(kept.count)), and more may follow"
                        : "its lane holds them and hands nothing over until they are kept (dead_letters: block); make room on the disk"
                    warn("dead letters of \(provider) cannot be kept: \(error); \(rest)")
                }
                state.told[provider] = Trouble(
                    kind: error.kind, isLoss: isLost, lost: (before?.lost ?? 0) + (isLost ? kept.count : 0))
                return (kept.count, error)
            }
        }
    }

    private static func words(_ provider: String, over trouble: Trouble) -> String {
        let lost = trouble.lost == 0 ? "" : "; events lost meanwhile: \(grouped(trouble.lost))"
        return "dead letters of \(provider) can be kept again\(lost)"
    }

    private func open() throws(SpoolFault) -> DeadLetterFile? {
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            do throws(SystemFault) {
                try makeFolder(String(path[..<slash]), mode: 0o700)
            } catch {
                throw SpoolFault(.failed, "\(path): \(error)")
            }
        }
        let file = try DeadLetterFile(path, at: clock.wall(), cipher: cipher)
        if let damaged = file?.setAside { warn("\(path): was damaged; it was set aside as \(damaged)") }
        return file
    }

    /// Destroys what may not go any more by what is on record now.
    public func sweep(_ check: SecondCheck, _ routes: RunNames) throws(SpoolFault) -> Swept {
        guard divert == nil else { return Swept() }
        return try state.withLock { (state) throws(SpoolFault) in
            if let file = state.file, !file.isInPlace { state.file = nil }
            var file = state.file
            if file == nil { file = try DeadLetterFile(path, makes: false, cipher: cipher) }
            let found = try file?.sweep(check, routes) ?? (events: 0, bytes: 0)
            var swept = Swept()
            swap(&swept, &state.refused)
            swept.events += found.events
            swept.bytes += found.bytes
            return swept
        }
    }

    /// From now on it is told of each burial when the oldest of its events came in.
    public func onBurial(_ handler: @escaping @Sendable (Int64) -> Void) { state.withLock { $0.onBurial = handler } }

    /// Removes letters that are too old, so that the file holds them no more; how many, and when the next is due, in nanoseconds
    /// since 1970. `most`: how old those to a provider by a route may get.
    public func expire(_ most: (_ provider: String, _ route: String) -> Int64?) throws(SpoolFault) -> (events: Int, due: Int64?) {
        guard divert == nil else { return (0, nil) }
        return try state.withLock { (state) throws(SpoolFault) in
            if let file = state.file, !file.isInPlace { state.file = nil }
            var file = state.file
            if file == nil { file = try DeadLetterFile(path, makes: false, cipher: cipher) }
            guard let file else { return (0, nil) }
            let now = clock.wall()
            var (events, due) = try file.expire(at: now, most: most)
            if events > 0 || state.isUntidy {
                do throws(SpoolFault) {
                    try file.tidy()
                    try file.clearGaps()
                    state.isUntidy = false
                } catch {
                    // Somebody reads it, who will be done soon.
                    state.isUntidy = true
                    due = now
                }
            }
            return (events, due)
        }
    }

    /// Opens the file anew with the next event, since it may have been moved away.
    public func reopen() { state.withLock { $0.file = nil } }
}

extension DeadLetters.State {
    /// The batch, or what of it may be kept; nil: nothing.
    fileprivate mutating func allowed(of batch: Batch) -> Batch? {
        guard case .refused(let indices)? = check?.check(batch) else { return batch }
        let gone = batch.subset(indices)
        refused.events += gone.count
        refused.bytes += gone.bytes.count
        let left = Set(batch.entries.indices).subtracting(indices).sorted()
        return left.isEmpty ? nil : batch.subset(left)
    }
}
