// Keeps events that are given up in the dead-letter file, with the provider's answer, and removes letters that a withdrawal or their age
// demands. The file is created when the first event comes, and only its owner can read it. It never contains settings or secrets.

public import Admission
public import ConsentGate
internal import DeadLetterStore
public import Platform
public import Queueing
public import Spool
public import StateFiles
public import Tapping

public final class DeadLetters: Sendable {
    public let path: String
    private let cipher: Cipher?
    private let levels: RunNames
    private let clock: Clock
    private let warn: @Sendable (String) -> Void
    private let divert: Divert?
    private let check: SecondCheck?
    private let onBurial: (@Sendable (Int64) -> Void)?
    /// Those who look at the events that are kept. It is nil if nobody can.
    private let taps: Taps?
    private let state = Monitor(State())
    /// Messages for a person that are not sent yet. They are sent while the lock of the state is not held.
    private let messages = Monitor<[String]>([])

    fileprivate struct State {
        var file: DeadLetterFile?
        /// True if this run has had the file open. If the file is missing now, a person has removed it.
        var hasHadFile = false
        /// True if the file was found damaged, and the number of letters that were lost.
        var damage: (isFound: Bool, lost: Int) = (false, 0)
        /// True if letters were removed that the file's log may still contain.
        var isUntidy = false
        /// The trouble that was reported last, by provider. It is not reported again until events could be kept.
        var reported: [String: Trouble] = [:]
        /// The events that withdrawals destroyed instead of being kept.
        var refused = Destroyed()
    }

    fileprivate struct Trouble {
        var kind: SpoolFault.Kind
        var isLoss: Bool
        /// The number of events that were lost since the trouble began.
        var lost = 0
    }

    /// Takes events that are given up, instead of the file. Returns the number of events that could not be kept.
    public typealias Divert = @Sendable (Batch) -> Int

    /// `warn` gets a message for a person when events cannot be kept. `levels` has the names of the levels under which events were
    /// admitted. `onBurial` gets the arrival of the oldest event of each burial, in nanoseconds since 1970. Events that `check` refuses are
    /// not kept; it is nil if there is no ledger. The check and the write happen under the lock of the file. Thus an event of a withdrawn
    /// subject either fails the check, or is written before the sweep, which then destroys it.
    public init(
        path: String, cipher: Cipher? = nil, levels: RunNames = RunNames(), clock: Clock, divert: Divert? = nil, check: SecondCheck? = nil,
        onBurial: (@Sendable (Int64) -> Void)? = nil, taps: Taps? = nil, warn: @escaping @Sendable (String) -> Void
    ) {
        self.levels = levels
        self.path = path
        self.divert = divert
        self.check = check
        self.onBurial = onBurial
        self.taps = taps
        self.cipher = cipher
        self.clock = clock
        self.warn = warn
    }

    /// Keeps the events of a batch. Returns the number of events that could not be kept, and the fault. With `isLost` these events are
    /// lost; otherwise the lane holds them.
    func bury(
        _ batch: Batch, provider: String, routes: [String], reason: LaneAccount.Fate, _ answer: Answer, attempts: Int, isLost: Bool
    ) -> (lost: Int, fault: SpoolFault?) {
        if let divert { return (divert(batch), nil) }
        // The check may send a message when it refreshes, so this happens before the lock is taken.
        check?.refresh()
        defer { sendMessages() }
        return state.withLock { state in
            let (kept, refused) = state.divide(batch, by: check)
            guard let kept else {
                state.refused.add(refused)
                return (0, nil)
            }
            do throws(SpoolFault) {
                try use(&state, makes: true) { (file) throws(SpoolFault) in
                    try file.bury(
                        kept, at: clock.wall(), provider: provider, routes: routes, levels: levels.all, reason: reason.rawValue,
                        code: answer.code, answer: answer.message, attempts: attempts)
                }
                for (provider, trouble) in state.reported.sorted(by: { $0.key < $1.key }) {
                    note(DeadLetters.message(provider, over: trouble))
                }
                state.reported = [:]
                state.refused.add(refused)
                if let taps, taps.looks(at: .dead) {
                    taps.add(
                        Array(0..<kept.count), of: kept, at: .dead, provider: provider, routes: routes, answer: answer.answered,
                        reason: reason.rawValue)
                }
                if let oldest = batch.entries.map(\.arrival).min() { onBurial?(oldest) }
                return (0, nil)
            } catch {
                // The file may have been moved away, or may be back the next time.
                state.file = nil
                // A lane that holds the batch comes again with all of it.
                if isLost { state.refused.add(refused) }
                let before = state.reported[provider]
                if before?.kind != error.kind || before?.isLoss != isLost {
                    let rest =
                        isLost
                        ? "events lost: \(grouped(kept.count)), and more may follow"
                        : "its lane holds them and hands nothing over until they are kept (dead_letters: block); make room on the disk"
                    note("dead letters of \(provider) cannot be kept: \(error); \(rest)")
                }
                state.reported[provider] = Trouble(
                    kind: error.kind, isLoss: isLost, lost: (before?.lost ?? 0) + (isLost ? kept.count : 0))
                return (kept.count, error)
            }
        }
    }

    private func note(_ message: String) { messages.withLock { $0.append(message) } }

    private func sendMessages() {
        let all = messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
        for message in all { warn(message) }
    }

    private static func message(_ provider: String, over trouble: Trouble) -> String {
        let lost = trouble.lost == 0 ? "" : "; events lost meanwhile: \(grouped(trouble.lost))"
        return "dead letters of \(provider) can be kept again\(lost)"
    }

    /// Runs the body with the file, if the file exists or `makes` is true. If the file turns out to be damaged or is removed meanwhile, a
    /// new file takes its place and the body runs once more.
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
            // The file was removed during the body, either by a person or by a replay that set the damaged file aside.
            case .removed: break
            default: throw error
            }
        }
        guard let file = try open(&state, makes) else { return nil }
        return try body(file)
    }

    private func open(_ state: inout State, _ makes: Bool) throws(SpoolFault) -> DeadLetterFile? {
        // A file that was removed is created anew, since a person who removes letters wants them to be gone.
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
        let file = try DeadLetterFile(
            path, makes: makes, mends: true, at: clock.wall(), cipher: cipher,
            say: { [messages] message in messages.withLock { $0.append(message) } })
        state.file = file
        if file != nil { state.hasHadFile = true }
        if let loss = file?.loss {
            state.damage.isFound = true
            state.damage.lost += loss.events
        }
        return file
    }

    /// Opens the file at the start of the run, so that this run reports what happened to the letters of earlier runs.
    public func begin() {
        guard divert == nil else { return }
        defer { sendMessages() }
        state.withLock { state in
            do throws(SpoolFault) {
                _ = try open(&state, false)
            } catch {
                // Any other fault is reported to the caller that needs the file.
                if error.kind == .damaged { state.damage.isFound = true }
                if error.kind == .damaged { note("\(error)") }
            }
        }
    }

    /// Closes the file at the end of the run. If a person has removed it by now, the next run does not treat this as a loss.
    public func end() {
        checkPlace()
        state.withLock { $0.file = nil }
    }

    /// Checks if a person has removed the file, so that this does not count as a loss.
    public func checkPlace() {
        state.withLock { state in
            guard let file = state.file, !file.isInPlace else { return }
            state.follow(file)
            try? DeadLetterFile.forgetRemoved(path)
        }
    }

    /// True if the file was found damaged in this run, and the number of letters that were lost.
    public var damage: (isFound: Bool, lost: Int) { state.withLock { $0.damage } }

    /// Destroys the letters that may not be kept any more according to the ledger. Returns what withdrawals have destroyed so far, with the
    /// events that were refused instead of being kept.
    public func sweep(_ check: SecondCheck, _ routes: RunNames) throws(SpoolFault) -> Swept {
        guard divert == nil else { return Swept() }
        defer { sendMessages() }
        return try state.withLock { (state) throws(SpoolFault) in
            var swept = Swept()
            swept.destroyed = state.refused
            let found = try use(&state, makes: false) { (file) throws(SpoolFault) in
                try file.sweep(check, routes)
                return file.destroyed
            }
            if let found { swept.destroyed.add(found) }
            return swept
        }
    }

    /// Removes letters that are too old, so that the file no longer contains them. Returns their number, and the time at which the next
    /// letter is too old, in nanoseconds since 1970. `most` returns the maximum age of letters of a provider and a route.
    public func expire(_ most: (_ provider: String, _ route: String) -> Int64?) throws(SpoolFault) -> (events: Int, due: Int64?) {
        guard divert == nil else { return (0, nil) }
        defer { sendMessages() }
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
                    // Another process is reading the file and will soon be done.
                    state.isUntidy = true
                    due = now
                }
            }
            return (events, due)
        }
    }

    /// Opens the file again for the next event, since it may have been moved away.
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

    /// Divides a batch into the events that may be kept and those that the second check refuses. The first is nil if it has no event. The
    /// others are only counted, by the receipt of their withdrawal.
    fileprivate func divide(_ batch: Batch, by check: SecondCheck?) -> (kept: Batch?, refused: Destroyed) {
        guard case .refused(let refused)? = check?.answer(batch) else { return (batch, Destroyed()) }
        var destroyed = Destroyed()
        for (event, receipt) in zip(refused.events, refused.receipts) { destroyed.add(receipt, bytes: batch.event(event).count + 1) }
        let left = Set(batch.entries.indices).subtracting(refused).sorted()
        assert(left.count + refused.count == batch.count, "an event of a burial is neither kept nor refused")
        return (left.isEmpty ? nil : batch.subset(left), destroyed)
    }
}
