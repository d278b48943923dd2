// Turns the news of lanes into messages for a person: one line for each change, never one line for each batch.

public import Platform
internal import Queueing
internal import Spool

public struct LaneReporter: Sendable {
    let deadLetters: String
    let say: @Sendable (String) -> Void
    /// Called when the files of a lane's queue were removed.
    let storeGone: @Sendable (StorageFault) -> Void
    /// Called when a lane has closed. Returns the number of lanes that are left.
    let laneClosed: @Sendable (Lane) -> Int
    private let reported = Monitor(Reported())

    private struct Reported {
        var burials: Set<String> = []
        /// The number of times that a lane began to fail or to drop events, by lane.
        var troubles: [String: Int] = [:]
    }

    public init(
        deadLetters: String, say: @escaping @Sendable (String) -> Void, storeGone: @escaping @Sendable (StorageFault) -> Void = { _ in },
        laneClosed: @escaping @Sendable (Lane) -> Int
    ) {
        self.storeGone = storeGone
        self.deadLetters = deadLetters
        self.say = say
        self.laneClosed = laneClosed
    }

    public func tell(_ lane: Lane, _ news: Lane.News) {
        switch news {
        case .failing(let answer, let again):
            guard isWorthReporting(lane) else { return }
            say("\(lane.name): \(text(of: answer)); its events wait, next try in \(brief(again))")
        case .recovered(let attempts):
            guard wasReported(lane) else { return }
            say("\(lane.name): delivers again after \(grouped(attempts)) failed \(attempts == 1 ? "attempt" : "attempts")")
        case .buried(let count, let reason, let answer, let lost):
            // Only the first burial of its kind is reported for each lane. The account at the end has the numbers.
            let kind = "\(lane.name) \(reason.rawValue) \(answer.code)"
            guard reported.withLock({ $0.burials.insert(kind).inserted }), lost < count else { return }
            let what = count == 1 ? "an event" : "\(grouped(count)) events"
            say("\(lane.name): \(what) \(reason.rawValue): \(text(of: answer)); kept in \(deadLetters)")
        case .dropping:
            guard isWorthReporting(lane) else { return }
            say("\(lane.name): its queue is full; events are dropped, as queue.full asks, and counted")
        case .opened(let failures):
            guard isWorthReporting(lane) else { return }
            say("\(lane.name): \(failures) failures in a row, its breaker is open: one batch at a time probes")
        // The loss that damage causes is reported separately.
        case .storing(let fault?, let act):
            if fault.kind != .damaged { say("\(lane.name): \(failure(of: act)): \(fault); \(course(of: act, fault, lane))") }
        case .storing(nil, .rows): say("\(lane.name): its events can be kept on disk again")
        case .storing(nil, .records): say("\(lane.name): what became of its events can be recorded on disk again")
        case .storing(nil, .reads): say("\(lane.name): its events on disk can be read again")
        case .storing(nil, .sweeps): say("\(lane.name): events that must not stay on disk can be destroyed again")
        case .damaged(let loss): say("\(lane.name): \(loss.words)")
        case .gone(let fault): storeGone(fault)
        case .left(let count):
            say("\(lane.name): \(grouped(count)) \(count == 1 ? "event waits" : "events wait") on disk for the next run")
        case .closed(let answer): sayLast(of: lane, answer, "the lane is closed")
        case .stopped(let answer):
            sayLast(of: lane, answer, "the lane is stopped, its events \(lane.isDurable ? "stay on disk" : "go to \(deadLetters)")")
        }
    }

    private func failure(of act: StoreAct) -> String {
        switch act {
        case .rows: "its events cannot be kept on disk"
        case .records: "what became of its events cannot be recorded on disk"
        case .reads: "its events on disk cannot be read"
        case .sweeps: "events that must not stay on disk cannot be destroyed"
        }
    }

    private func course(of act: StoreAct, _ fault: SpoolFault, _ lane: Lane) -> String {
        switch act {
        case .rows: lane.drops ? "events that do not fit into memory are dropped and counted" : "they wait in memory, nothing is lost"
        case .records where fault.kind == .full: "no more events are handed over until it can be recorded"
        case .records: "the router tries again; after a kill, events that were delivered would be delivered again"
        case .reads: "they stay there, and the router tries again"
        case .sweeps: "none of them is handed over, and the router tries again"
        }
    }

    private func sayLast(of lane: Lane, _ answer: Answer, _ end: String) {
        let left = laneClosed(lane)
        say("\(lane.name): \(text(of: answer)); " + (left == 0 ? "no other provider is left, ending" : end))
    }

    /// Returns true if the trouble is worth a message. A lane that fails and recovers all the time is reported ten times, and then each
    /// time the count has grown tenfold.
    private func isWorthReporting(_ lane: Lane) -> Bool {
        reported.withLock { reported in
            reported.troubles[lane.name, default: 0] += 1
            return wasReported(reported.troubles[lane.name]!)
        }
    }

    private func wasReported(_ lane: Lane) -> Bool { reported.withLock { wasReported($0.troubles[lane.name] ?? 0) } }

    private func wasReported(_ count: Int) -> Bool {
        var milestone = 10
        while milestone < count { milestone *= 10 }
        return count <= 10 || count == milestone
    }

    private func text(of answer: Answer) -> String {
        answer.message.isEmpty ? "failed with code \(answer.code)" : printable(answer.shown ?? answer.message)
    }

    private func brief(_ duration: Duration) -> String {
        let milliseconds = duration.nanoseconds / 1_000_000
        return milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
    }
}
