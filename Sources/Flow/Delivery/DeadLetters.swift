// Where events go that are given up, with the provider's answer. The file is made, for its owner alone, when the first event
// comes. It never holds settings or secrets.

public import Admission
public import ConsentGate
public import Platform
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
        /// This run has had the file: where it is missing now a person has taken it away.
        var hasHadFile = false
        /// Whether it was found damaged, and how many letters were lost by that.
        var damage: (isFound: Bool, lost: Int) = (false, 0)
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
                try use(&state, makes: true) { (file) throws(SpoolFault) in
                    try file.bury(
                        kept, at: clock.wall(), provider: provider, routes: routes, levels: levels.all, reason: reason.rawValue,
                        code: answer.code, answer: answer.message, attempts: attempts)
                }
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

    /// Does the body with the file, if there is one or `makes`. Where it turns out to be damaged, or is taken away meanwhile, another one takes
    /// its place, and the body is done once more.
    @discardableResult
    private func use<R>(
        _ state: inout State, makes: Bool, _ body: (DeadLetterFile) throws(SpoolFault) -> R
    ) throws(SpoolFault) -> R? {
        do throws(SpoolFault) {
            guard let file = try open(&state, makes) else { return nil }
            return try body(file)
        } catch {
            switch error.kind {
            case .damaged:
                state.damage.isFound = true
                state.file?.closeKeepingLog()
                state.file = nil
            // In the middle of it; so does a replay that sets a damaged file aside.
            case .removed: break
            default: throw error
            }
        }
        guard let file = try open(&state, makes) else { return nil }
        return try body(file)
    }

    private func open(_ state: inout State, _ makes: Bool) throws(SpoolFault) -> DeadLetterFile? {
        // One that was removed is made anew: what a person takes away is meant to be gone.
        if let file = state.file, !file.isInPlace { state.follow(file) }
        if let file = state.file { return file }
        if state.hasHadFile { try DeadLetterFile.forgetRemoved(path) }
        if makes, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            do throws(SystemFault) {
                try makeFolder(String(path[..<slash]), mode: 0o700)
            } catch {
                throw SpoolFault(.failed, "\(path): \(error)")
            }
        }
        let file = try DeadLetterFile(path, makes: makes, mends: true, at: clock.wall(), cipher: cipher, say: warn)
        state.file = file
        if file != nil { state.hasHadFile = true }
        if let loss = file?.loss {
            state.damage.isFound = true
            state.damage.lost += loss.events
        }
        return file
    }

    /// The run begins: what has become of the letters of earlier ones is told by this one.
    public func begin() {
        guard divert == nil else { return }
        state.withLock { state in
            do throws(SpoolFault) {
                _ = try open(&state, false)
            } catch {
                // Whoever needs the file is told of any other fault.
                if error.kind == .damaged { state.damage.isFound = true }
                if error.kind == .damaged { warn("\(error)") }
            }
        }
    }

    /// The run is over: what a person has taken away by now is no loss for the next one.
    public func end() {
        checkPlace()
        state.withLock { $0.file = nil }
    }

    /// Notices that a person has taken the file away.
    public func checkPlace() {
        state.withLock { state in
            guard let file = state.file, !file.isInPlace else { return }
            state.follow(file)
            try? DeadLetterFile.forgetRemoved(path)
        }
    }

    /// Whether the file was found damaged in this run, and how many letters were lost by that.
    public var damage: (isFound: Bool, lost: Int) { state.withLock { $0.damage } }

    /// Destroys what may not go any more by what is on record now.
    public func sweep(_ check: SecondCheck, _ routes: RunNames) throws(SpoolFault) -> Swept {
        guard divert == nil else { return Swept() }
        return try state.withLock { (state) throws(SpoolFault) in
            let found =
                try use(&state, makes: false) { (file) throws(SpoolFault) in try file.sweep(check, routes) } ?? (events: 0, bytes: 0)
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
            let now = clock.wall()
            let expired = try use(&state, makes: false) { (file) throws(SpoolFault) in (file, try file.expire(at: now, most: most)) }
            guard let (file, (events, next)) = expired else { return (0, nil) }
            var due = next
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
    public func reopen() {
        state.withLock { state in
            if let file = state.file, !file.isInPlace { state.follow(file) }
            state.file = nil
        }
    }
}

extension DeadLetters.State {
    fileprivate mutating func follow(_ removed: DeadLetterFile) {
        removed.followRemoved()
        file = nil
    }

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
