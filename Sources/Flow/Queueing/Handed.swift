// A batch that was handed over to the provider: what is left of it, and which of its events have begun to leave. A pure value. It promises
// that an event that was taken out never begins to leave, and that an event that has begun is never taken out.

internal import Admission
internal import ConsentGate

struct Handed {
    /// The events that are left. Its batch is empty if all were taken out.
    private(set) var waiting: WaitingBatch
    /// The number of events as they were handed over. The provider names events by their index among these.
    let count: Int
    /// For each event that is left, its index as it was handed over. It is nil if nothing was taken out.
    private var places: [Int]?
    private var begun = Begun.none
    /// The version of consent under which all events that are left passed. It is nil if the lane has no second check.
    var passed: SecondCheck.Version?

    private enum Begun {
        case none
        /// True for each event that has begun, by its index as it was handed over.
        case some([Bool])
        case all
    }

    init(_ waiting: WaitingBatch, passedAt version: SecondCheck.Version?) {
        self.waiting = waiting
        count = waiting.batch.count
        passed = version
    }

    /// True if every event of this index, as it was handed over, is left. Nil stands for all events.
    func has(_ events: [Int]?) -> Bool {
        guard let places else { return events?.allSatisfy { $0 < count } ?? true }
        guard let events else { return places.count == count }
        let left = Set(places)
        return events.allSatisfy(left.contains)
    }

    /// Returns the indices in what is left for indices as they were handed over. Nil stands for all events.
    func left(_ events: [Int]?) -> [Int] {
        guard let events else { return Array(0..<waiting.batch.count) }
        guard let places else { return events }
        let wanted = Set(events)
        return places.indices.filter { wanted.contains(places[$0]) }
    }

    /// True if the event has begun, by its index in what is left.
    func hasBegun(_ index: Int) -> Bool {
        switch begun {
        case .none: false
        case .all: true
        case .some(let flags): flags[places?[index] ?? index]
        }
    }

    mutating func noteBegun(_ events: [Int]?) {
        assert(has(events), "an event begins to leave after it was taken out")
        guard let events, events.count < count else {
            begun = .all
            return
        }
        var flags: [Bool]
        switch begun {
        case .all: return
        case .none: flags = Array(repeating: false, count: count)
        case .some(let known): flags = known
        }
        for event in events { flags[event] = true }
        begun = .some(flags)
    }

    mutating func withdraw(_ events: [Int]) -> WaitingBatch {
        assert(!events.contains(where: hasBegun), "an event is taken out that has begun to leave")
        let taken = waiting.part(events)
        let gone = Set(events)
        let left = (0..<waiting.batch.count).filter { !gone.contains($0) }
        places = left.map { places?[$0] ?? $0 }
        waiting = waiting.part(left)
        return taken
    }

    /// Returns the outcome for what is left, from the outcome for all events that were handed over.
    func outcome(_ outcome: BatchOutcome) -> BatchOutcome {
        guard let places else { return outcome }
        var left: [Int: Outcome] = [:]
        for (index, place) in places.enumerated() { left[index] = outcome.events[place] }
        return BatchOutcome(outcome.batch, events: left)
    }
}
