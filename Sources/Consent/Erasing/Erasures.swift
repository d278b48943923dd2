// Asks providers to erase. A thread of its own asks each provider about one job at a time, beside the lane of the provider, and a job is in
// the file before anybody hears of it. It promises:
//
// - A provider is asked only after the withdrawal is on record, and after everything that was in the provider's hands then has ended.
// - An ask is noted before it is made, and its answer before the next one. After a kill in between, the provider is asked again with the
//   state that it last returned.
// - An answer counts only for the ask that is under way. A late, second or strange answer changes nothing.
//
// Erasures+Asking.swift has the asks.

internal import Delivery
public import Plans
public import Platform

public final class Erasures: Sendable {
    struct Ask {
        var number: UInt64
        var job: Int64
        var due: Instant
        /// True if the time is over. The provider is not asked again before it has answered, or was replaced.
        var isLate = false
    }

    struct State {
        /// The asks under way, by provider.
        var asks: [String: Ask] = [:]
        var lastAsk: UInt64 = 0
        /// For each job of this run that was not asked yet, the last delivery of its lane when it was begun.
        var marks: [Int64: UInt64] = [:]
        /// Jobs whose last answer is not in the file yet.
        var unwritten: [Int64: ErasureJob] = [:]
        /// How jobs have ended in this run.
        var results: [ErasureCount] = []
        /// The number of answers that belonged to no ask.
        var strays = 0
        var fault: StorageFault?
        var isWoken = false
        var isOver = false
    }

    let store: ErasureStore
    let plan: @Sendable () -> Plan
    let target: @Sendable (_ provider: String) -> ErasureTarget?
    private let stored: @Sendable () -> Set<String>
    let clock: Clock
    let say: @Sendable (String) -> Void
    let start: @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Void
    let state = Monitor(State())

    /// `target` finds a provider of the present plan by its name. `stored` returns the providers that have a queue or dead letters. `start`
    /// runs the call of a module, on a thread of its own.
    public init(
        _ store: ErasureStore, plan: @escaping @Sendable () -> Plan, stored: @escaping @Sendable () -> Set<String>,
        target: @escaping @Sendable (String) -> ErasureTarget?, clock: Clock = .system,
        start: @escaping @Sendable (String, @escaping @Sendable () -> Void) -> Void = { Thread.start($0, $1).detach() },
        say: @escaping @Sendable (String) -> Void
    ) {
        self.store = store
        self.plan = plan
        self.stored = stored
        self.target = target
        self.clock = clock
        self.start = start
        self.say = say
    }

    var rules: ErasurePlan { plan().consent?.erasures ?? ErasurePlan() }

    // MARK: - Jobs

    /// Begins the jobs of these demands, whose withdrawals are on record. When this returns, the jobs are on disk.
    @discardableResult
    public func begin(_ demands: [ErasureDemand]) throws(StorageFault) -> [ErasureJob] {
        let (plan, stored, now) = (plan(), stored(), clock.wall())
        let receivers = Set(try store.receivers().map(\.provider))
        let forms = KnownForms(plan)
        let jobs = demands.flatMap { $0.jobs(by: plan, forms, stored: stored, receivers: receivers, at: now) }
        if jobs.isEmpty { return [] }
        let added = try store.use(makes: true) { (file) throws(StorageFault) in
            let added = try file.add(jobs)
            // The thread cannot see the jobs before the file is free again, so it sees none without its mark.
            var marks: [String: UInt64] = [:]
            for name in Set(added.map(\.provider)) { marks[name] = target(name)?.lastDelivery() }
            state.withLock { state in
                for job in added where job.phase.isOpen { state.marks[job.number] = marks[job.provider] }
            }
            return added
        }
        for job in added ?? [] where job.phase.needsPerson { tell(job) }
        wake()
        return added ?? []
    }

    /// Records that these providers may get events from now on.
    public func remember(_ providers: Set<String>) throws(StorageFault) { try store.remember(providers) }

    /// The names of the providers in the configuration.
    public var configured: [String] { plan().providers.map(\.name) }

    /// The providers that may have got events.
    public func receivers() throws(StorageFault) -> [Receiver] { try store.receivers() }

    /// Why a provider is not forgotten.
    public enum StaysKnown: Sendable, Equatable {
        case unknown
        /// The configuration has it, so the next run would record it again.
        case isConfigured
        /// It has a queue or dead letters.
        case isStored
    }

    /// Forgets that a provider may have got events, since nothing of it is left there. Returns nil if that is done.
    public func forget(_ provider: String) throws(StorageFault) -> StaysKnown? {
        if configured.contains(provider) { return .isConfigured }
        if stored().contains(provider) { return .isStored }
        let isForgotten = try store.use { (file) throws(StorageFault) in try file.forget(provider) } ?? false
        return isForgotten ? nil : .unknown
    }

    public func jobs(after number: Int64 = 0, most: Int = 500) throws(StorageFault) -> [ErasureJob] {
        try store.use { (file) throws(StorageFault) in try file.jobs(after: number, most: most) } ?? []
    }

    /// Returns all jobs, the ended ones too, in order.
    public func allJobs() throws(StorageFault) -> [ErasureJob] {
        var all: [ErasureJob] = []
        while true {
            let page = try jobs(after: all.last?.number ?? 0)
            if page.isEmpty { return all }
            all += page
        }
    }

    public func job(_ number: Int64) throws(StorageFault) -> ErasureJob? {
        try store.use { (file) throws(StorageFault) in try file.job(number) } ?? nil
    }

    public func jobs(of receipt: Int64) throws(StorageFault) -> [ErasureJob] {
        try store.use { (file) throws(StorageFault) in try file.jobs(of: receipt) } ?? []
    }

    /// Notes that a person has erased the ids of a job. Returns false if there is no such job, or if it has ended.
    public func settle(_ number: Int64) throws(StorageFault) -> Bool {
        let job = try store.use { (file) throws(StorageFault) -> ErasureJob? in
            guard var job = try file.job(number), job.phase.isOpen || job.phase.needsPerson else { return nil }
            job.settle(at: clock.wall())
            try file.update(job)
            return job
        }
        guard let job = job ?? nil else { return false }
        count(job)
        return true
    }

    /// Why a job cannot be asked again.
    public enum Refusal: Error, Sendable, Equatable {
        case unknown
        case hasEnded
        case isOpen
        /// The provider cannot be asked, for this reason.
        case unaskable(String)
    }

    /// Asks again about a job that was given up or left to a person.
    public func again(_ number: Int64) throws(StorageFault) -> Refusal? {
        let plan = plan()
        let answer = try store.use { (file) throws(StorageFault) -> Refusal? in
            guard var job = try file.job(number) else { return .unknown }
            if job.phase.isOpen { return .isOpen }
            guard job.phase.needsPerson else { return .hasEnded }
            guard let contents = job.contents else { return .unaskable(Erasures.unreadable) }
            guard let index = plan.providers.firstIndex(where: { $0.name == job.provider }) else { return .unaskable(Erasures.absent) }
            let subjects = KnownForms(plan).subjects(contents.named, at: index)
            if subjects.isEmpty { return .unaskable(ErasureDemand.unknownForm) }
            job.again(subjects, plugin: plan.providers[index].plugin, at: clock.wall())
            try file.update(job)
            return nil
        }
        wake()
        // Without a file there is no job.
        return answer ?? .unknown
    }

    // MARK: - Running

    /// Reports what needs a person, and begins to ask.
    public func begin() {
        for count in status.open where count.phase.needsPerson {
            say("\(count.provider): \(grouped(count.jobs)) \(Erasures.needs(count.phase)); see switchyard consent erasures")
        }
        Thread.start("erasures") { self.run() }.detach()
    }

    private func run() {
        while !state.withLock({ $0.isOver }) {
            step()
            let next = next
            state.waitUntilReady { state -> Readiness<Void> in
                if state.isOver || state.isWoken {
                    state.isWoken = false
                    return .ready(())
                }
                return next.map { clock.now() >= $0 } ?? false ? .ready(()) : .notBefore(next)
            }
        }
    }

    /// Asks nobody any more. An answer that is under way still counts until `close`.
    public func end() {
        state.withLock { $0.isOver = true }
        state.wake()
    }

    public func close() { store.close() }

    func wake() {
        state.withLock { $0.isWoken = true }
        state.wake()
    }

    /// Asks these providers about their open jobs soon, since other instances have taken their places.
    public func hasten(_ providers: Set<String>) {
        if providers.isEmpty { return }
        // An instance that is gone does not answer any more.
        state.withLock { state in state.asks = state.asks.filter { !($0.value.isLate && providers.contains($0.key)) } }
        do throws(StorageFault) {
            try store.use { (file) throws(StorageFault) in try file.hasten(providers, at: clock.wall()) }
        } catch {
            note(error)
        }
        wake()
    }

    // MARK: - Status

    public struct Status: Sendable {
        /// The jobs that are open, or need a person.
        public var open: [ErasureCount] = []
        /// The jobs that have ended in this run.
        public var results: [ErasureCount] = []
        /// The providers that have not answered within the time of an ask.
        public var late: [String] = []
        public var fault: String?
    }

    public var status: Status {
        var status = Status()
        do throws(StorageFault) {
            let counts = try store.use { (file) throws(StorageFault) in try file.counts() } ?? []
            status.open = counts.filter { $0.phase.isOpen || $0.phase.needsPerson }
        } catch {
            status.fault = error.description
        }
        state.withLock { state in
            status.results = state.results
            status.late = state.asks.filter(\.value.isLate).keys.sorted()
            if let fault = state.fault { status.fault = status.fault ?? fault.description }
        }
        return status
    }

    // MARK: - Messages

    static let absent = "the configuration has no provider of this name"
    static let unreadable =
        "the key that encrypted its ids is not configured; name it in consent.ledger.previous"

    static func needs(_ phase: ErasureJob.Phase) -> String {
        phase == .givenUp ? "erasures were given up without a confirmation" : "erasures need a person"
    }

    /// Tells how a job has ended, or that it needs a person. No message names an id.
    func tell(_ job: ErasureJob) {
        let last = job.words.isEmpty ? "" : ": \(job.words)"
        switch job.phase {
        case .confirmed: say("\(job.provider): erasure \(job.number) is confirmed")
        case .byHand:
            say("\(job.provider): erasure \(job.number) needs a person\(last); see switchyard consent erasures --ids \(job.number)")
        case .givenUp:
            say(
                "\(job.provider): erasure \(job.number) was given up after \(grouped(job.attempts)) asks without a confirmation\(last); "
                    + "see switchyard consent erasures --ids \(job.number)")
        case .waiting, .asked, .done: break
        }
        count(job)
    }

    private func count(_ job: ErasureJob) {
        guard !job.phase.isOpen else { return }
        state.withLock { state in
            if let index = state.results.firstIndex(where: { $0.provider == job.provider && $0.phase == job.phase }) {
                state.results[index].jobs += 1
            } else {
                state.results.append(ErasureCount(provider: job.provider, phase: job.phase, jobs: 1))
            }
        }
    }
}
