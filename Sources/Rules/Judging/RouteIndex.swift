// The filters of many routes, compiled together. With it a judge finds the routes that may take an event by one look at the event's name and
// one at each member by which routes differ. It visits only these. The filter of every other route is known to exclude the event, and at
// which stage.

internal import Events
internal import Expressions
internal import Matching

struct RouteIndex: BitwiseCopyable {
    /// With fewer routes than this that can be left out, it is faster to visit all.
    static let fewestRoutes = 12

    /// The routes with the same list of globs. All are left out if the name matches none of the globs.
    struct NameGroup: BitwiseCopyable {
        /// The routes that are visited whatever the members of the event are.
        let visited: UnsafeBufferPointer<Int>
        /// The range of its groups in `members`.
        let first: Int
        let end: Int
    }

    /// Routes of one name group that differ in the values that they demand of one member.
    struct MemberGroup: BitwiseCopyable {
        enum Absence: UInt8, BitwiseCopyable {
            /// Without the member every filter excludes the event at the stage of the group.
            case excludes
            /// Without the member every filter fails.
            case fails
            /// Without the member each filter must be asked.
            case undecided
        }

        let values: ValueIndex
        /// True if the values are those of `match`, and false if they are those of `where`.
        let isMatch: Bool
        let absence: Absence
        let routes: UnsafeBufferPointer<Int>
    }

    /// A route that can be left out.
    struct Place: BitwiseCopyable {
        let route: Int
        let group: Int
        /// Its group in `members`. It is -1 if it has none.
        let member: Int
    }

    /// The number of words with a bit for each route.
    let words: Int
    /// The routes that are visited on every event.
    let always: UnsafeBufferPointer<UInt64>
    let globs: GlobIndex
    /// The groups with globs, in the order of `globs`, and then the group without globs.
    let groups: UnsafeBufferPointer<NameGroup>
    let members: UnsafeBufferPointer<MemberGroup>
    let places: UnsafeBufferPointer<Place>
    /// The most globs of a route that may have to search the whole name.
    let searches: Int
    /// The matches of all routes that read numbers as a whole.
    let numeric: UnsafeBufferPointer<MatchRule>
    /// The most steps that a route that is left out takes for each 1,024 bytes of an event.
    let weight: Int

    /// The index of the group of routes without globs.
    @inline(__always) var unnamed: Int { groups.count &- 1 }
}

/// The routes that may take the present event, and the numbers of events that the others were left out of.
struct RouteCandidates: ~Copyable {
    /// It is nil if the plan has too few routes.
    private let index: UnsafePointer<RouteIndex>?
    /// A bit for each route.
    private let bits: UnsafeMutablePointer<UInt64>
    private let isFound: UnsafeMutablePointer<Bool>
    private let found: UnsafeMutablePointer<Int>
    private var foundCount = 0
    /// The events since `count`.
    private var events = 0
    /// For each name group, the events whose name matched.
    private let opened: UnsafeMutablePointer<Int>
    /// For each member group, the events of which only those routes were visited whose values were found.
    private let decided: UnsafeMutablePointer<Int>
    /// For each member group, the events on which all filters fail.
    private let failed: UnsafeMutablePointer<Int>
    /// For each route, how often its values were found.
    private let hits: UnsafeMutablePointer<Int>

    init(_ index: UnsafePointer<RouteIndex>?) {
        self.index = index
        func zeros<T: FixedWidthInteger>(_ count: Int) -> UnsafeMutablePointer<T> {
            let memory = UnsafeMutablePointer<T>.allocate(capacity: max(1, count))
            memory.initialize(repeating: 0, count: count)
            return memory
        }
        let groups = index?.pointee.groups.count ?? 0
        bits = zeros(index?.pointee.words ?? 0)
        isFound = .allocate(capacity: max(1, groups))
        isFound.initialize(repeating: false, count: groups)
        found = zeros(groups)
        opened = zeros(groups)
        decided = zeros(index?.pointee.members.count ?? 0)
        failed = zeros(index?.pointee.members.count ?? 0)
        hits = zeros((index?.pointee.words ?? 0) * UInt64.bitWidth)
    }

    deinit {
        bits.deallocate()
        isFound.deallocate()
        found.deallocate()
        opened.deallocate()
        decided.deallocate()
        failed.deallocate()
        hits.deallocate()
    }

    /// True if the plan has so many routes that they are compiled together.
    @inline(__always) var isUsed: Bool { index != nil }

    /// The words with a bit for each route, after `choose`.
    @inline(__always) var chosen: UnsafeBufferPointer<UInt64> {
        UnsafeBufferPointer(start: bits, count: index.unsafelyUnwrapped.pointee.words)
    }

    /// Chooses the routes that must be visited for the event. Returns false if all must be.
    @inline(never) mutating func choose(_ event: ScannedEvent, _ context: inout EventContext) -> Bool {
        let index = index.unsafelyUnwrapped
        if RouteFilter.isLarge(event), mayTakeSteps(event, &context) { return false }
        events &+= 1
        for word in 0..<index.pointee.words { bits[word] = index.pointee.always[word] }
        foundCount = 0
        if index.pointee.unnamed > 0, let name = context.readName(event) {
            foundCount = index.pointee.globs.find(name, isFound: isFound, found: found)
        }
        for i in 0..<foundCount { open(found[i], event) }
        open(index.pointee.unnamed, event)
        return true
    }

    @inline(__always) private mutating func open(_ group: Int, _ event: ScannedEvent) {
        let index = index.unsafelyUnwrapped
        increment(opened, group)
        let rule = index.pointee.groups.baseAddress.unsafelyUnwrapped + group
        for route in rule.pointee.visited { set(route) }
        for member in rule.pointee.first..<rule.pointee.end { look(member, event) }
    }

    @inline(__always) private mutating func look(_ member: Int, _ event: ScannedEvent) {
        let group = index.unsafelyUnwrapped.pointee.members.baseAddress.unsafelyUnwrapped + member
        let answer = group.pointee.values.look(event)
        switch (answer.kind, group.pointee.absence) {
        case (.found, _), (.absent, .excludes):
            increment(decided, member)
            for route in answer.owners {
                increment(hits, route)
                set(route)
            }
        case (.absent, .fails): increment(failed, member)
        case (.absent, .undecided), (.undecided, _): for route in group.pointee.routes { set(route) }
        }
    }

    /// The compiler fails on `counts[i] &+= 1` on a member of a noncopyable value if it adds the calls of the thread sanitizer.
    @inline(__always) private func increment(_ counts: UnsafeMutablePointer<Int>, _ index: Int) { counts[index] &+= 1 }

    @inline(__always) private func set(_ route: Int) { bits[route &>> 6] |= 1 &<< UInt64(truncatingIfNeeded: route & 63) }

    /// Returns true if the filter of some route may take steps of the large event that the routes share, for names and members that it
    /// compares. Then every route must be visited, so that later ones have the steps that are left.
    @inline(never) private func mayTakeSteps(_ event: ScannedEvent, _ context: inout EventContext) -> Bool {
        let index = index.unsafelyUnwrapped
        var bytes = index.pointee.searches == 0 ? 0 : index.pointee.searches * (context.readName(event)?.count ?? 0)
        for rule in index.pointee.numeric { bytes += rule.bytesRead(event) }
        if bytes >= EventSteps.bytesOfComparison { return true }
        return index.pointee.weight * Int(event.end - event.start) > EventSteps.ofRule * EventSteps.bytesOfComparison
    }

    /// Adds the verdicts of the routes that were left out since the last call.
    mutating func count(into tally: inout Tally) {
        guard let index, events > 0 else { return }
        for place in index.pointee.places {
            let opened = opened[place.group]
            if opened < events { tally.count(.filtered(.events), events - opened, route: place.route) }
            guard place.member >= 0 else { continue }
            let out = decided[place.member] - hits[place.route]
            assert(out >= 0, "a route was found more often than its group")
            let stage: FilterStage = index.pointee.members[place.member].isMatch ? .match : .where
            if out > 0 { tally.count(.filtered(stage), out, route: place.route) }
            if failed[place.member] > 0 { tally.count(.filtered(.whereErrors), failed[place.member], route: place.route) }
        }
        events = 0
        opened.update(repeating: 0, count: index.pointee.groups.count)
        decided.update(repeating: 0, count: index.pointee.members.count)
        failed.update(repeating: 0, count: index.pointee.members.count)
        hits.update(repeating: 0, count: index.pointee.words * UInt64.bitWidth)
    }
}
