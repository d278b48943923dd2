// Compiles the transforms of a route that cannot be folded into one pass. Consecutive operations that can be folded become one stage; every
// other operation becomes one or more stages. The members that consent withholds are dropped first. The annotation of the
// sample and the session is written last.

public import Events

/// The numbers of the stages of one route, in order.
public struct Program: Sendable {
    public var stages: [Int]
}

public struct ProgramCompiler {
    private let resources: StepResources
    private let store: Store
    public private(set) var stages: [StageRule] = []
    public private(set) var programs: [Program] = []
    /// The index of the operation of the route's list that is compiled now. It is nil for a stage that no operation of the list makes.
    private var step: Int?

    public init(_ resources: StepResources, store: Store) {
        self.resources = resources
        self.store = store
    }

    /// Adds a program and returns its number. `middle` contains the stages of the route's own list, which its programs share.
    public mutating func add(cut: [Path], middle: [Int], annotation: (any Step)?) -> Int {
        var list = middle
        if !cut.isEmpty { list.insert(fold([DropStep(cut)]), at: 0) }
        if let annotation { list.append(fold([annotation])) }
        programs.append(Program(stages: list))
        return programs.count - 1
    }

    /// Compiles the list of a route and returns the numbers of its stages.
    public mutating func compile(_ steps: [any Step]) -> [Int] {
        var list: [Int] = []
        var run: [any Step] = []
        defer { step = nil }
        for (index, next) in steps.enumerated() {
            guard case .stages(let rules) = next.code(resources) else {
                step = index
                run.append(next)
                continue
            }
            if !run.isEmpty { list.append(fold(run)) }
            run = []
            step = index
            list += rules.map { add($0) }
        }
        if !run.isEmpty { list.append(fold(run)) }
        return list
    }

    private mutating func fold(_ steps: [any Step]) -> Int {
        let paths = PathTrie(steps.flatMap(\.paths))
        var compiler = EditCompiler(paths: paths, keys: resources.keys, store: store)
        let root = compiler.add(MemberFate(steps, resources))
        let edits = FoldedEdits(
            root: root, edits: store.list(compiler.edits), growth: store.list(compiler.growth), digests: store.list(compiler.digests),
            editedDigests: compiler.editedDigests, keys: resources.keys, keepsDigests: resources.keepsDigests)
        return add(StageRule(paths) { FoldStage(paths, edits) })
    }

    private mutating func add(_ rule: StageRule) -> Int {
        var rule = rule
        rule.step = step
        stages.append(rule)
        return stages.count - 1
    }
}
