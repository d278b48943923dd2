// Sends dead letters again, by the current rules and the current consent. Each letter is judged by the route that it came through or, if
// that route no longer sends to its provider, by all routes that do. Only that provider gets it. A letter is removed from its file when the
// provider has taken it, or when the rules deny it or filter it out. Until then, a crash loses nothing. A letter that fails again stays.
//
// Letters are sent in groups, one after the other. The delivered letters of a group are removed before the next group is sent, so a replay
// that is killed repeats at most one group. The first group is one letter, and groups grow while they are quick. So each replay gets
// further than the one before, even if the provider is slow.
//
// A letter holds the edited event. The event was in the sample, so the sample is not drawn again, and hashed values are not hashed twice.
// The subjects of a letter are those that the event had when it arrived. The ledger is asked about them when the letter is judged, and
// again when it is handed over. If the records cannot be read, the letter stays.

internal import Admission
public import DeadLetterStore
public import Delivery
internal import Events
public import Expressions
internal import Judging
public import Ledger
public import Plans
public import Platform
internal import Workers

public struct ReplayOptions: Sendable {
    public var choice = DeadLetterFile.Choice()
    /// Globs for the names of the events to replay. If the list is empty, all events are replayed.
    public var events: [Glob] = []
    /// The condition that events must meet. If it is nil, all events meet it.
    public var condition: Expression?
    /// True if letters are judged, but not sent and not removed.
    public var isDryRun = false
    /// How long each group of letters may take.
    public var timeout = Duration.seconds(30)
    /// The records of subjects. It is nil if no ledger is kept.
    public var ledger: LedgerView?
    public var clock = Clock.system
    public var seed: UInt64 = 0
    public init() {}
}

public struct ReplayAccount: Sendable, Equatable {
    public var provider: String
    /// The number of letters that were chosen.
    public var letters = 0
    /// Letters that the provider took, and that were removed. In a dry run, these are the letters that would be sent.
    public var delivered = 0
    /// Letters that the current consent denies, and that were removed.
    public var denied = 0
    /// Letters that no route wants any more, or that the filter of the provider leaves out, and that were removed.
    public var filtered = 0
    /// Letters that were not taken. They stay.
    public var failed = 0
    /// Letters that were not tried. They stay.
    public var left = 0
    /// Why no letter was tried. It is nil if letters were tried.
    public var fault: String?

    public var balances: Bool { letters == delivered + denied + filtered + failed + left }
}

public final class Replay: Sendable {
    private let plan: Plan
    private let file: Monitor<DeadLetterFile>
    private let options: ReplayOptions
    private let say: @Sendable (String) -> Void
    private let state = Monitor(State())
    private static let page = 500

    private struct State {
        /// How long the provider may take for batches in flight. It is nil until the replay is told to end.
        var grace: Duration?
        /// The lane that is active. It is nil if there is none.
        var lane: ReplayLane?
    }

    public init(_ plan: Plan, _ file: DeadLetterFile, options: ReplayOptions, say: @escaping @Sendable (String) -> Void) {
        self.plan = plan
        self.file = Monitor(file)
        self.options = options
        self.say = say
    }

    /// Stops handing over. Batches in flight may take this long, and what the provider confirms is recorded.
    public func stop(within time: Duration) {
        let lane = state.withLock { state in
            state.grace = min(state.grace ?? time, time)
            return state.lane
        }
        lane?.stop(within: time)
    }

    /// True if the replay was told to end.
    public var isStopped: Bool { state.withLock { $0.grace != nil } }

    /// Replays all chosen letters. `outlet` makes the provider with an index, and throws if that is not possible.
    public func run(_ outlet: (Int) throws -> Outlet) throws -> [ReplayAccount] {
        // Leave out letters that arrive meanwhile, since the replay might never end.
        let end = options.clock.wall()
        let names = try counts().map(\.provider)
        var accounts: [ReplayAccount] = []
        for name in names where !accounts.contains(where: { $0.provider == name }) {
            var account = ReplayAccount(provider: name)
            if let index = plan.providers.firstIndex(where: { $0.name == name }) {
                try replay(to: index, try options.isDryRun || isStopped ? nil : outlet(index), until: end, &account)
            } else {
                account.fault = "no provider of the configuration has this name"
                try eachPage(name, until: end) { letters in
                    account.letters += letters.count
                    account.left += letters.count
                }
            }
            assert(account.balances, "a chosen letter has no result, or two")
            accounts.append(account)
        }
        return accounts
    }

    private func counts() throws -> [DeadLetterCount] { try file.withLock { try $0.counts(options.choice) } }

    private func eachPage(_ provider: String, until end: Int64, _ body: ([DeadLetter]) throws -> Void) throws {
        var choice = options.choice
        choice.provider = provider
        let selector = Selector(options, plan.limits)
        var last: Int64 = 0
        while true {
            let page = try file.withLock { try $0.letters(choice, after: last, most: Replay.page) }
            guard let next = page.last?.id else { return }
            last = next
            let meant = page.filter { $0.at <= end && selector.wants($0.event) }
            if !meant.isEmpty { try body(meant) }
        }
    }

    private func replay(to index: Int, _ outlet: Outlet?, until end: Int64, _ account: inout ReplayAccount) throws {
        let check = ReplayCheck(plan, options.ledger)
        let lane = outlet.map {
            ReplayLane(index, of: plan, outlet: $0, check: check, options: options, say: say)
        }
        let grace = state.withLock { state in
            state.lane = lane
            return state.grace
        }
        // If `stop` was called before the lane existed, stop the lane now.
        if let grace { lane?.stop(within: grace) }
        defer {
            lane?.end()
            state.withLock { $0.lane = nil }
        }
        let judges = LetterJudges(plan, provider: index, ledger: options.ledger)
        var groupSize = GroupSize(most: min(Replay.page, max(1, plan.providers[index].delivery.batch.events)))
        try eachPage(account.provider, until: end) { letters in
            account.letters += letters.count
            var rest = letters[...]
            while !rest.isEmpty {
                if !options.isDryRun, lane?.gaveUp ?? true || isStopped {
                    account.left += rest.count
                    return
                }
                let group = rest.prefix(lane == nil ? rest.count : groupSize.events)
                rest = rest.dropFirst(group.count)
                let began = options.clock.now()
                try replay(group, judges: judges, check: check, lane: lane, account: &account)
                groupSize.note(group.count, took: options.clock.now() - began)
            }
        }
        if lane != nil {
            try file.withLock { file in
                try file.tidy()
                // Letters may have been removed because their subjects refuse.
                try file.clearGaps()
            }
        }
    }

    /// Judges these letters, and sends those that may go. If `lane` is nil, it only judges.
    private func replay(
        _ letters: ArraySlice<DeadLetter>, judges: LetterJudges, check: ReplayCheck?, lane: ReplayLane?,
        account: inout ReplayAccount
    ) throws {
        var parcel = Parcel()
        var owners: [Int64: ReplayLane.Pending] = [:]
        var settled: [Int64] = []
        options.ledger?.look(up: letters.flatMap(\.subjects))
        for letter in letters {
            // Letters of one block have the same arrival time. Add a nanosecond to make it unique.
            var arrival = letter.arrival
            while owners[arrival] != nil { arrival += 1 }
            assert(arrival < letter.arrival + Int64(letters.count), "more letters have one arrival time than there are")
            switch check?.judge(letter) ?? judges.judge(letter, arrival: arrival, into: &parcel) {
            case .sent(let copies): owners[arrival] = ReplayLane.Pending(letter: letter.id, copies: copies)
            case .denied:
                account.denied += 1
                settled.append(letter.id)
            case .filtered:
                account.filtered += 1
                settled.append(letter.id)
            case .undecided: account.failed += 1
            }
        }
        guard let lane else {
            account.delivered += owners.count
            return
        }
        if !settled.isEmpty { try file.withLock { try $0.remove(settled) } }
        let remainder = try lane.send(&parcel, owners) { letters in
            do {
                try file.withLock { try $0.remove(letters.delivered + letters.filtered) }
            } catch {
                let count = letters.delivered.count == 1 ? "1 letter was" : "\(grouped(letters.delivered.count)) letters were"
                say("\(account.provider): \(count) delivered, but that cannot be recorded; the next replay sends them again")
                throw error
            }
            account.delivered += letters.delivered.count
            account.filtered += letters.filtered.count
        }
        account.failed += remainder.failed
        account.left += remainder.left
    }
}

/// The number of letters that are sent at once. If the replay is killed, all letters of a group are in doubt. So the group grows only while
/// groups are quick, or while a larger group takes less time for each letter, as with a server that needs the same time for every request.
struct GroupSize {
    private(set) var events = 1
    private let most: Int
    /// The time that a letter of the last full group took, in nanoseconds.
    private var each = Int64.max
    private static let quick = Duration.milliseconds(100)
    private static let slow = Duration.milliseconds(400)

    init(most: Int) {
        assert(most >= 1, "no letter could be sent")
        self.most = most
    }

    mutating func note(_ count: Int, took time: Duration) {
        guard count >= events else { return }
        let now = time.nanoseconds / Int64(max(1, count))
        let isWorthMore = now < each / 4 * 3
        each = now
        assert((1...most).contains(events) && now >= 0, "a group is empty or too large, or the clock went back")
        if time < GroupSize.quick || isWorthMore {
            events = min(most, events * 2)
        } else if time > GroupSize.slow {
            events = max(1, events / 2)
        }
    }
}

/// Chooses events by their names and by a condition.
private final class Selector {
    private let judging: LetterJudge?

    init(_ options: ReplayOptions, _ limits: Limits) {
        guard !options.events.isEmpty || options.condition != nil else {
            judging = nil
            return
        }
        var plan = Plan()
        plan.messageID.add = false
        var route = RoutePlan(name: "chosen")
        route.events = options.events
        route.condition = options.condition
        plan.routes = [route]
        judging = LetterJudge(Ruleset(plan), depth: limits.depth)
    }

    func wants(_ event: [UInt8]) -> Bool {
        guard let judging else { return true }
        judging.worker.load(event, arrival: 0)
        defer { judging.worker.reset() }
        return judging.worker.tally[0, .admitted] > 0
    }
}
