// Runs expressions on scanned events. A set of expressions is linked once to the paths that the scanner locates, and all threads share
// it. An evaluator belongs to one thread.

public import Events

/// Expressions that are linked to the slots in which a scanner notes the members that they name.
public final class ExpressionSet: @unchecked Sendable {
    public let expressions: [Expression]
    fileprivate let linked: UnsafeMutableBufferPointer<Linked>
    fileprivate let general: [[Code]]
    private let held: [UnsafeMutablePointer<UInt8>]

    fileprivate struct Linked: BitwiseCopyable {
        var nodes: UnsafeMutablePointer<Quick>
        var root: Int
        var slots: UnsafeMutablePointer<Int>
        var parents: UnsafeMutablePointer<Int>
    }

    /// `paths` must hold all paths of every expression.
    public init(_ expressions: [Expression], paths: PathTrie) {
        self.expressions = expressions
        var linked: [Linked] = []
        var general: [[Code]] = []
        var held: [UnsafeMutablePointer<UInt8>] = []
        for expression in expressions {
            let slots = expression.paths.map { paths.slot(of: $0)! }
            assert(slots.allSatisfy { (PathTrie.root..<paths.count).contains($0) }, "a member has no slot of its own")
            let parents = slots.map { paths.parent(of: $0) }
            var compiler = QuickCompiler(slots: slots, parents: parents)
            let root = compiler.add(expression.code)
            linked.append(Linked(nodes: copy(compiler.nodes), root: root, slots: copy(slots), parents: copy(parents)))
            general.append(compiler.general)
            held += compiler.held
        }
        self.linked = .allocate(capacity: linked.count)
        _ = self.linked.initialize(from: linked)
        self.general = general
        self.held = held
    }

    /// Returns the nodes of an expression, and the index of its root.
    func quick(_ index: Int) -> (nodes: UnsafePointer<Quick>, root: Int) {
        assert(linked.indices.contains(index), "the set has no such expression")
        return (UnsafePointer(linked[index].nodes), linked[index].root)
    }

    deinit {
        for one in linked {
            one.nodes.deallocate()
            one.slots.deallocate()
            one.parents.deallocate()
        }
        linked.deallocate()
        for memory in held { memory.deallocate() }
    }
}

/// The values besides the event that an expression can use.
public struct EvaluationContext: Sendable {
    /// The value of `now`, in nanoseconds since 1970.
    public var now: Int64
    /// The value of `source`, as an index into the names that the evaluator was made with.
    public var source: Int
    /// The steps that are left for the event. If they are nil, only each evaluation is limited.
    public var steps: EventSteps?

    public init(now: Int64, source: Int = 0, steps: EventSteps? = nil) {
        self.now = now
        self.source = source
        self.steps = steps
    }
}

public struct Evaluator: ~Copyable {
    let set: ExpressionSet
    private let sources: [TextValue]
    private var machine: Machine

    /// `constants` has a value for each constant that an expression of the set names.
    public init(_ set: ExpressionSet, sources: [String] = [], constants: [String: String] = [:]) {
        self.set = set
        self.sources = sources.map { TextValue($0) }
        machine = Machine(limits: ExpressionLimits())
        machine.variables = Value.variables(ofConstants: constants)
    }

    /// Decides whether the condition with this index holds for the event.
    @inline(__always)
    public mutating func decide(_ index: Int, event: ScannedEvent, around: EvaluationContext) -> Truth {
        assert(set.linked.indices.contains(index), "the set has no such expression")
        let linked = set.linked[index]
        return decide(linked.nodes, at: linked.root, index: index, event: event, around: around)
    }

    private mutating func decide(
        _ nodes: UnsafeMutablePointer<Quick>, at: Int, index: Int, event: ScannedEvent, around: EvaluationContext
    ) -> Truth {
        let node = UnsafePointer(nodes + at)
        switch node.pointee.kind {
        case .constant: return node.pointee.isNegated ? .no : .yes
        case .and:
            let left = decide(nodes, at: node.pointee.left, index: index, event: event, around: around)
            if left == .no { return .no }
            let right = decide(nodes, at: node.pointee.right, index: index, event: event, around: around)
            return right == .no ? .no : left == .error ? .error : right
        case .or:
            let left = decide(nodes, at: node.pointee.left, index: index, event: event, around: around)
            if left == .yes { return .yes }
            let right = decide(nodes, at: node.pointee.right, index: index, event: event, around: around)
            return right == .yes ? .yes : left == .error ? .error : right
        case .not:
            switch decide(nodes, at: node.pointee.left, index: index, event: event, around: around) {
            case .no: return .yes
            case .yes: return .no
            case .error: return .error
            }
        case .anyText:
            guard Evaluator.isAffordable(node, event, around) else { return .error }
            let choices = UnsafeBufferPointer(start: nodes + node.pointee.left, count: node.pointee.right - node.pointee.left)
            return Quick.isAny(choices, node, event)
        case .general: return general(node.pointee.left, index: index, event: event, around: around)
        default: return Evaluator.isAffordable(node, event, around) ? Quick.look(node, event) : .error
        }
    }

    /// Takes the steps for comparing a member with constants. A usual text takes none. Returns false if too few are left; then the rule has
    /// none any more.
    @inline(__always) private static func isAffordable(
        _ node: UnsafePointer<Quick>, _ event: ScannedEvent, _ around: EvaluationContext
    ) -> Bool {
        let slot = event.slots[node.pointee.slot]
        let bytes = Int(slot.end &- slot.start)
        return bytes < EventSteps.bytesOfComparison || isAffordable(node, bytes: bytes, around)
    }

    @inline(never) private static func isAffordable(_ node: UnsafePointer<Quick>, bytes: Int, _ around: EvaluationContext) -> Bool {
        guard let steps = around.steps, !steps.take(Quick.steps(node, bytes: bytes)) else { return true }
        steps.takeAll()
        return false
    }

    @inline(never)
    private mutating func general(_ code: Int, index: Int, event: ScannedEvent, around: EvaluationContext) -> Truth {
        prepare(index, event: event, around: around)
        do throws(Failure) {
            guard case .bool(let holds) = try machine.run(set.general[index][code]) else { return .error }
            return holds ? .yes : .no
        } catch {
            return .error
        }
    }

    mutating func prepare(_ index: Int, event: ScannedEvent, around: EvaluationContext) {
        machine.event = event
        machine.slots = UnsafePointer(set.linked[index].slots)
        machine.parents = UnsafePointer(set.linked[index].parents)
        machine.now = around.now
        machine.eventSteps = around.steps
        assert(set.expressions.indices.contains(index), "the set has no such expression")
        machine.source = sources.indices.contains(around.source) ? sources[around.source] : nil
    }

    /// Returns the value of the expression with this index. The value can point into the event.
    public mutating func value(_ index: Int, event: ScannedEvent, around: EvaluationContext) -> Result<Value, EvaluationFault> {
        prepare(index, event: event, around: around)
        let expression = set.expressions[index]
        do throws(Failure) {
            return .success(try machine.run(expression.code))
        } catch {
            return .failure(EvaluationFault(error, in: expression.text))
        }
    }

    /// Appends the value as JSON to the buffer. Returns false and appends nothing if the value cannot be computed or written. The value of
    /// a member is written byte for byte as the event has it.
    public mutating func write(_ index: Int, event: ScannedEvent, around: EvaluationContext, to buffer: inout ByteBuffer) -> Bool {
        prepare(index, event: event, around: around)
        let before = buffer.count
        let code = set.expressions[index].code
        do throws(Failure) {
            if case .member = code.kind, let written = member(code, index, event) {
                _ = try machine.run(code)
                buffer.append(event.block + Int(written.start), Int(written.end - written.start))
            } else {
                try machine.write(code, to: &buffer)
            }
            return true
        } catch {
            buffer.truncate(to: before)
            return false
        }
    }

    /// Returns the slot of the member that is the whole expression. It is nil if the event lacks the member.
    private func member(_ code: Code, _ index: Int, _ event: ScannedEvent) -> Slot? {
        let slot = event.slots[set.linked[index].slots[code.index]]
        return slot.isPresent ? slot : nil
    }

    /// Returns why the value cannot be computed or written. It is nil if it can be.
    public mutating func fault(_ index: Int, event: ScannedEvent, around: EvaluationContext) -> EvaluationFault? {
        prepare(index, event: event, around: around)
        let expression = set.expressions[index]
        var buffer = ByteBuffer()
        do throws(Failure) {
            try machine.write(expression.code, to: &buffer)
            return nil
        } catch {
            return EvaluationFault(error, in: expression.text)
        }
    }

    /// Returns the part of a condition that decided, and its result. If `a && b` is false, that is the side that is false.
    public mutating func decision(_ index: Int, event: ScannedEvent, around: EvaluationContext) -> Decision {
        prepare(index, event: event, around: around)
        let expression = set.expressions[index]
        var code = expression.code
        let holds = truth(code).0 == .yes
        while true {
            let truth = truth(code)
            guard let next = deciding(code, truth.0) else {
                let text = Array(expression.text.utf8)
                return Decision(
                    truth: truth.0, part: String(decoding: text[Int(code.start)..<Int(code.end)], as: UTF8.self),
                    fault: truth.1.map { EvaluationFault($0, in: expression.text) }, holds: holds)
            }
            code = next
        }
    }

    mutating func truth(_ code: Code) -> (Truth, Failure?) {
        do throws(Failure) {
            guard case .bool(let holds) = try machine.run(code) else { return (.error, code.failure(.notBoolean)) }
            return (holds ? .yes : .no, nil)
        } catch {
            return (.error, error)
        }
    }

    /// Returns the operand that decided. It is nil if all operands decided together, or if there are none.
    private mutating func deciding(_ code: Code, _ truth: Truth) -> Code? {
        switch code.kind {
        case .not: return code.children[0]
        case .and, .or:
            let all: Truth = if case .and = code.kind { .yes } else { .no }
            if truth == all { return nil }
            for child in code.children where self.truth(child).0 == truth { return child }
            return nil
        default: return nil
        }
    }

    public struct Decision: Sendable {
        /// The result of the part. Under a `!` it differs from the result of the whole condition.
        public var truth: Truth
        /// The text of the part, as it is written.
        public var part: String
        /// The reason why the part failed. It is nil if the part did not fail.
        public var fault: EvaluationFault?
        /// True if the whole condition holds.
        public var holds: Bool
    }
}

private func copy<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafeMutablePointer<Element> {
    let memory = UnsafeMutablePointer<Element>.allocate(capacity: max(1, elements.count))
    memory.initialize(from: elements, count: elements.count)
    return memory
}
