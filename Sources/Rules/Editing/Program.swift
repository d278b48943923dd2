// Compiles the transforms of a route that contain more than drop, set and hash. Consecutive drop, set and hash operations are folded into
// one stage; every other operation becomes one or more stages. The members that consent withholds are dropped first. The annotation of the
// sample and the session is written last.

public import Events
internal import Expressions
public import Plans

/// The numbers of the stages of one route, in order.
public struct Program: Sendable {
    public var stages: [Int]
}

public struct ProgramCompiler {
    private let keys: UnsafeBufferPointer<HMACKey>
    private let store: Store
    private let sources: [String]
    private let keepsDigests: Bool
    public private(set) var stages: [StageRule] = []
    public private(set) var programs: [Program] = []
    /// The index of the operation of the route's list that is compiled now. It is nil for a stage that no operation of the list makes.
    private var step: Int?

    public init(keys: UnsafeBufferPointer<HMACKey>, store: Store, sources: [String], keepsDigests: Bool) {
        self.keys = keys
        self.store = store
        self.sources = sources
        self.keepsDigests = keepsDigests
    }

    /// Adds a program and returns its number. `middle` contains the stages of the route's own list, which its programs share.
    public mutating func add(cut: [Path], middle: [Int], annotation: TransformPlan?) -> Int {
        var list = middle
        if !cut.isEmpty { list.insert(fold([.drop(cut)]), at: 0) }
        if let annotation { list.append(fold([annotation])) }
        programs.append(Program(stages: list))
        return programs.count - 1
    }

    /// Compiles the list of a route and returns the numbers of its stages.
    public mutating func compile(_ transforms: [TransformPlan]) -> [Int] {
        var list: [Int] = []
        var run: [TransformPlan] = []
        defer { step = nil }
        for (index, transform) in transforms.enumerated() {
            guard case .step(let plan) = transform else {
                step = index
                run.append(transform)
                continue
            }
            if !run.isEmpty { list.append(fold(run)) }
            run = []
            step = index
            list += compile(plan)
        }
        if !run.isEmpty { list.append(fold(run)) }
        return list
    }

    private mutating func compile(_ step: StepPlan) -> [Int] {
        switch step {
        case .keep(let kept):
            let paths = PathTrie(kept)
            return [add(paths) { KeepStage(paths, kept) }]
        case .move(let pairs):
            // Each move is a stage, because it may name a member that the preceding one has moved.
            return pairs.map { pair in
                let paths = PathTrie([pair.from, pair.to])
                return add(paths) { MoveStage(paths, from: pair.from, to: pair.to) }
            }
        case .compute(let members, let onlyWhereLacking):
            return members.map { member in
                var wanted = [member.path]
                if case .expression(let expression) = member.value { wanted += expression.paths }
                let paths = PathTrie(wanted)
                let sources = sources
                let set: ExpressionSet? =
                    if case .expression(let expression) = member.value { ExpressionSet([expression], paths: paths) } else { nil }
                return add(paths) {
                    ComputeStage(
                        paths, path: member.path, value: member.value, set: set, onlyWhereLacking: onlyWhereLacking, sources: sources)
                }
            }
        case .change(let fields, let change): return compile(fields, change)
        case .scrub(let scrub, let places):
            let paths = PathTrie(places + [TextPlaces.messageID])
            return [add(paths) { ScrubStage(paths, places: places, scrub: scrub) }]
        case .mask(let mask, let places):
            let paths = PathTrie(places + [TextPlaces.messageID])
            return [add(paths) { MaskStage(paths, places: places, mask: mask) }]
        case .changes(let members): return members.flatMap { compile([$0.path], $0.change) }
        }
    }

    private mutating func compile(_ fields: [Path], _ change: ValueChange) -> [Int] {
        apart(fields).map { fields in
            var wanted = fields
            if case .pick(let names) = change { wanted += fields.flatMap { field in names.map { Path(keys: field.keys + [$0]) } } }
            let paths = PathTrie(wanted)
            let value = changing(change)
            return add(paths) { ChangeStage(paths, fields: fields, changing: value) }
        }
    }

    /// Returns the paths in groups. In a group, no path is inside another.
    private func apart(_ paths: [Path]) -> [[Path]] {
        var groups: [[Path]] = []
        for path in paths {
            if let i = groups.firstIndex(where: { !$0.contains { $0.isNested(with: path) } }) {
                groups[i].append(path)
            } else {
                groups.append([path])
            }
        }
        return groups
    }

    private func changing(_ change: ValueChange) -> @Sendable () -> any Changing {
        switch change {
        case .hash(let key, let name, let digits):
            let key = keys[key]
            let keeps = keepsDigests
            return { HashChange(key, name: name, digits: digits, keepsDigests: keeps) }
        case .bin(let bounds): return { BinChange(bounds) }
        case .round(let step): return { RoundChange(step) }
        case .roundTime(let unit): return { TimeChange(unit) }
        case .truncateIP(let v4, let v6): return { AddressChange(v4: v4, v6: v6) }
        case .limit(let most): return { LimitChange(most) }
        case .lower: return { LowerChange() }
        case .pick(let names): return { PickChange(names) }
        case .flatten: return { FlattenChange() }
        }
    }

    private mutating func fold(_ transforms: [TransformPlan]) -> Int {
        let fate = MemberFate(transforms, keys: keys)
        let paths = PathTrie(transforms.flatMap(\.paths))
        var compiler = EditCompiler(paths: paths, keys: keys, store: store)
        let root = compiler.add(fate)
        let edits = FoldedEdits(
            root: root, edits: store.list(compiler.edits), growth: store.list(compiler.growth), digests: store.list(compiler.digests),
            rooms: compiler.rooms, keys: keys, keepsDigests: keepsDigests)
        return add(paths) { FoldStage(paths, edits) }
    }

    private mutating func add(_ paths: PathTrie, _ make: @escaping @Sendable () -> Stage) -> Int {
        stages.append(StageRule(paths: paths, step: step, make: make))
        return stages.count - 1
    }
}

extension Path {
    /// Returns true if one path is inside the other or if both are equal.
    func isNested(with other: Path) -> Bool {
        let common = min(keys.count, other.keys.count)
        return Path(keys: Array(keys.prefix(common))) == Path(keys: Array(other.keys.prefix(common)))
    }
}
