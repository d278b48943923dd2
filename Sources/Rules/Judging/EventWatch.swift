// Collects events with their verdicts for people who look at a running router. A judge collects nothing unless it was told to watch. The
// number of events of a block and their bytes are limited; what is over the limit is counted and not kept. Watching never changes a
// verdict.

public import Admission
internal import Events

/// What one person looks for in the events of a block.
public struct Watch: Sendable, Equatable {
    /// The verdicts, with a bit for each of `Tally.columns`.
    public var verdicts: UInt32
    /// For each route of the plan, whether its verdicts count.
    public var routes: [Bool]
    public var mostEvents: Int
    public var mostBytes: Int

    public init(verdicts: UInt32, routes: [Bool], mostEvents: Int, mostBytes: Int) {
        self.verdicts = verdicts
        self.routes = routes
        self.mostEvents = mostEvents
        self.mostBytes = mostBytes
    }
}

/// An event that somebody looks for.
public struct WatchedEvent: Sendable {
    /// The event as the routes got it.
    public var line: [UInt8]
    /// The verdict of each route, as an index into `Tally.columns`. A route that was left out because its filter surely excludes the event
    /// has the verdict `filtered(.events)`, whatever stage it was.
    public internal(set) var columns: [UInt8]
    public var subjects: [SubjectKey]
    public var arrival: Int64
    /// The indices of the watches that look for it.
    public var watches: [Int]
    /// Its index among the held events of the block. It is nil if no route holds it.
    var held: Int?
}

struct EventWatch {
    private(set) var watches: [Watch] = []
    /// The verdicts that any of the watches looks for.
    private var wanted: UInt32 = 0
    /// What each watch may still keep of the block.
    private var left: [(events: Int, bytes: Int)] = []
    private(set) var events: [WatchedEvent] = []
    /// For each watch, the number of events that were over its limit.
    private(set) var dropped: [Int] = []

    var isOn: Bool { wanted != 0 }

    /// Begins with another block.
    mutating func begin(_ watches: [Watch]) {
        self.watches = watches
        wanted = watches.reduce(0) { $0 | $1.verdicts }
        forget()
    }

    /// Forgets what was collected of the block, because it is judged again or is done.
    mutating func forget() {
        events.removeAll()
        left = watches.map { ($0.mostEvents, $0.mostBytes) }
        dropped = watches.map { _ in 0 }
    }

    /// Returns true if somebody may look for an event with these verdicts, a bit for each of `Tally.columns`.
    func looksFor(_ verdicts: UInt32) -> Bool { verdicts & wanted != 0 }

    /// Keeps the event for each watch that looks for it and has room. `columns` are the verdicts of the routes.
    mutating func look(
        _ event: ScannedEvent, _ columns: UnsafeBufferPointer<UInt8>, subjects: UnsafeBufferPointer<SubjectKey>, arrival: Int64,
        held: Int?
    ) {
        let bytes = Int(event.end - event.start)
        var takers: [Int] = []
        for (index, watch) in watches.enumerated() where watch.isMet(by: columns) {
            guard left[index].events > 0, left[index].bytes >= bytes else {
                dropped[index] += 1
                continue
            }
            left[index].events -= 1
            left[index].bytes -= bytes
            takers.append(index)
        }
        guard !takers.isEmpty else { return }
        let line = UnsafeBufferPointer(start: event.block + Int(event.start), count: bytes)
        events.append(
            WatchedEvent(
                line: Array(line), columns: Array(columns), subjects: Array(subjects), arrival: arrival, watches: takers, held: held))
    }

    /// Sets the verdict of a route on an event that could not be held after all.
    mutating func settle(held index: Int, route: Int, as column: UInt8) {
        guard let event = events.firstIndex(where: { $0.held == index }) else { return }
        events[event].columns[route] = column
    }
}

extension Watch {
    fileprivate func isMet(by columns: UnsafeBufferPointer<UInt8>) -> Bool {
        assert(columns.count == routes.count, "somebody watches the routes of another plan")
        return columns.indices.contains { routes[$0] && verdicts & (1 << UInt32(columns[$0])) != 0 }
    }
}

extension Judge {
    /// Collects the events that these watches look for, from now on. `Worker` forgets them with the block.
    public mutating func watch(_ watches: [Watch]) {
        watched.begin(watches)
        sheet.isWatched = watched.isOn
    }

    /// True if events are collected for a watch.
    public var isWatched: Bool { watched.isOn }

    /// The events that were collected of the block, in their order.
    public var watchedEvents: [WatchedEvent] { watched.events }

    /// For each watch, the number of events of the block that were over its limit.
    public var unwatchedEvents: [Int] { watched.dropped }
}
