// The verdicts of a block of events on their way to the trail. Blocks that wait together under the same plan become one entry.

internal import MerkleLog
internal import Platform

public struct VerdictBlock: Sendable {
    /// The hash of the plan that gave the verdicts.
    public var plan: String?
    /// The names of the plan's routes.
    public var routes: [String]
    /// The rows that are kept: for each event its hash, and the number of the verdict of each route.
    public var rows: [UInt8]
    /// How often each route gave each verdict, by route and then by verdict. It covers all events, also those without a row.
    public var counts: [Int]
    /// The number of events.
    public var events: Int
    /// True if the events were held before, and the verdicts say what became of them.
    public var isHeld: Bool

    public init(plan: String?, routes: [String], rows: [UInt8], counts: [Int], events: Int, isHeld: Bool = false) {
        self.plan = plan
        self.routes = routes
        self.rows = rows
        self.counts = counts
        self.events = events
        self.isHeld = isHeld
        precondition(rows.count % width == 0, "a row of verdicts is cut off")
    }

    /// The bytes of a row.
    var width: Int { VerdictRow.hashSize + routes.count }

    public func isSameKind(as other: VerdictBlock) -> Bool {
        plan == other.plan && routes == other.routes && counts.count == other.counts.count && isHeld == other.isHeld
    }

    public mutating func add(_ other: VerdictBlock) {
        precondition(isSameKind(as: other), "verdicts of different plans are added up")
        rows += other.rows
        events += other.events
        for index in counts.indices { counts[index] += other.counts[index] }
    }

    /// Returns the entry about the block. `names` are the words for the verdicts, and `place` is where the rows are.
    func entry(_ names: [String], place: VerdictPlace?, at time: Int64) -> AuditEntry {
        precondition(counts.count == routes.count * names.count, "a verdict has no word")
        var entry = AuditEntry(.verdicts, at: time)
        entry.add("events", events)
        if isHeld { entry.add("held", json: "true") }
        entry.add("rows", place?.count ?? 0)
        if let place {
            entry.add("file", place.file)
            entry.add("offset", place.offset)
            entry.add("width", place.width)
            entry.add("root", place.root)
        }
        entry.add("routes", routes)
        entry.add("counts", json: "[\(routes.indices.map { counts(of: $0, names) }.joined(separator: ","))]")
        let used = names.indices.filter { column in routes.indices.contains { counts[$0 * names.count + column] > 0 } }
        entry.add("verdicts", json: "{\(used.map { "\"\($0)\":\(jsonQuoted(names[$0]))" }.joined(separator: ","))}")
        return entry
    }

    private func counts(of route: Int, _ names: [String]) -> String {
        let given = names.indices.filter { counts[route * names.count + $0] > 0 }
        return "{\(given.map { "\(jsonQuoted(names[$0])):\(counts[route * names.count + $0])" }.joined(separator: ","))}"
    }
}
