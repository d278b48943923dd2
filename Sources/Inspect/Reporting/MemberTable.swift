// Follows the members of an event through the operations of a route or a provider, without an event: it says for each named member, and for
// all others together, what happens to it. It never claims that a member stays as it is if an operation may have changed it.

public import Editing
public import Events

public struct MemberTable: Sendable {
    public struct Row: Sendable, Equatable {
        public var path: Path
        /// What happened to it, in order.
        public var words: [String]
        /// True if it does not leave.
        public var isGone = false
    }

    /// The named members, in the order in which the plan names them.
    public private(set) var rows: [Row] = []
    /// What happens to every other member.
    public private(set) var rest: [String] = []
    /// True if no other member leaves.
    public private(set) var isRestGone = false

    public init() {}

    public mutating func apply(_ effects: [MemberEffect]) {
        for effect in effects { apply(effect) }
    }

    public mutating func apply(_ effect: MemberEffect) {
        switch effect.kind {
        case .removed: for path in effect.paths { remove(path, effect.words) }
        case .kept: keep(effect.paths, otherwise: effect.words)
        case .changed where effect.paths.isEmpty: changeAll(effect.words)
        case .changed: for path in effect.paths { change(path, effect.words) }
        case .written: for path in effect.paths { write(path, effect.words) }
        case .moved(let place): for path in effect.paths { move(path, to: place, effect.words) }
        }
    }

    /// Adds words to a member without a change of its value, such as a condition under which it is removed.
    public mutating func note(_ path: Path, _ words: String) { change(path, words) }

    // MARK: - Operations

    private mutating func remove(_ path: Path, _ words: String) {
        guard let index = index(of: path) else { return }
        for other in rows.indices where path.holds(rows[other].path) && other != index { rows[other].isGone = true }
        rows[index].words.append(words)
        rows[index].isGone = true
    }

    private mutating func keep(_ paths: [Path], otherwise words: String) {
        for path in paths { _ = index(of: path) }
        for index in rows.indices where !rows[index].isGone {
            let row = rows[index].path
            if paths.contains(where: { $0.holds(row) }) { continue }
            if paths.contains(where: { row.holds($0) }) {
                rows[index].words.append("only the members below it that are named")
            } else {
                rows[index].words.append(words)
                rows[index].isGone = true
            }
        }
        isRestGone = true
    }

    private mutating func changeAll(_ words: String) {
        for index in rows.indices where !rows[index].isGone { rows[index].words.append(words) }
        if !isRestGone { rest.append(words) }
    }

    private mutating func change(_ path: Path, _ words: String) {
        guard let index = index(of: path) else { return }
        for other in rows.indices where path.holds(rows[other].path) && !rows[other].isGone { rows[other].words.append(words) }
        assert(rows[index].words.last == words, "a change of a member was not noted")
    }

    private mutating func write(_ path: Path, _ words: String) {
        for other in rows.indices where path.holds(rows[other].path) && rows[other].path != path { rows[other].isGone = true }
        if let index = rows.firstIndex(where: { $0.path == path }) {
            rows[index] = Row(path: path, words: [words])
        } else {
            rows.append(Row(path: path, words: [words]))
        }
    }

    private mutating func move(_ path: Path, to place: Path, _ words: String) {
        guard let index = index(of: path) else { return }
        let moved = rows[index].words + ["\(words) from \(path)"]
        for other in rows.indices where path.holds(rows[other].path) {
            rows[other].words.append("\(words) to \(place)")
            rows[other].isGone = true
        }
        if let there = rows.firstIndex(where: { $0.path == place }) {
            rows[there] = Row(path: place, words: moved)
        } else {
            rows.append(Row(path: place, words: moved))
        }
    }

    /// Returns the row of a member, which is made if it is missing. It is nil if the member cannot be there any more.
    private mutating func index(of path: Path) -> Int? {
        if let index = rows.firstIndex(where: { $0.path == path }) { return rows[index].isGone ? nil : index }
        // A member has what happened to the nearest member that holds it.
        let holder = rows.filter { $0.path.holds(path) }.max { $0.path.keys.count < $1.path.keys.count }
        if let holder {
            if holder.isGone { return nil }
            rows.append(Row(path: path, words: holder.words))
        } else {
            // A member that holds a row is there as long as a row below it is.
            let isAbove = rows.contains { path.holds($0.path) && !$0.isGone }
            if isRestGone, !isAbove { return nil }
            rows.append(Row(path: path, words: rest))
        }
        return rows.count - 1
    }
}

extension Path {
    /// True if the other member is this one or lies below it.
    fileprivate func holds(_ other: Path) -> Bool { other.keys.starts(with: keys) }
}
