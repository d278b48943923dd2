// The branches of an expression: the parts that decide how it goes on, each of which can be true or false. Tests of routes ask which of them
// events have taken. A router never asks, so that this costs it nothing.

public import Events

/// A part of an expression that can be true or false: an operand of `&&` or `||`, the condition of `? :`, or the whole condition.
public struct Branch: Sendable, Hashable {
    /// The range of the part, in bytes of the expression.
    public var range: Range<Int>
    /// The text of the part, as it is written.
    public var part: String
}

/// What a part was for an event. It is `error` if it had no value.
public struct TakenBranch: Sendable, Hashable {
    public var branch: Branch
    public var truth: Truth
}

extension Expression {
    /// The branches in the order of the text. Parts inside of macros are left out, since they run for each element. `isCondition` is true if
    /// the expression as a whole is a condition.
    public func branches(isCondition: Bool) -> [Branch] {
        var found: [Branch] = []
        func add(_ code: Code) { if !code.isConstant { found.append(branch(code)) } }
        func walk(_ code: Code) {
            switch code.kind {
            case .and, .or:
                for child in code.children {
                    if !child.decides { add(child) }
                    walk(child)
                }
            case .conditional:
                if !code.children[0].decides { add(code.children[0]) }
                for child in code.children { walk(child) }
            case .macro: walk(code.children[0])
            default: for child in code.children { walk(child) }
            }
        }
        if isCondition { add(code) }
        walk(code)
        var seen: Set<Branch> = []
        return found.filter { seen.insert($0).inserted }
    }

    fileprivate func branch(_ code: Code) -> Branch {
        let range = Int(code.start)..<Int(code.end)
        return Branch(range: range, part: String(decoding: Array(text.utf8)[range], as: UTF8.self))
    }
}

extension Code {
    /// True if its operands are branches themselves.
    fileprivate var decides: Bool {
        switch kind {
        case .and, .or: true
        case .not: children[0].decides
        default: false
        }
    }
}

extension Evaluator {
    /// Returns the branches that the evaluation of the expression with this index reaches, and what each was. A part behind one that decides is
    /// not reached.
    public mutating func takenBranches(
        _ index: Int, isCondition: Bool, event: ScannedEvent, around: EvaluationContext
    ) -> [TakenBranch] {
        prepare(index, event: event, around: around)
        let expression = set.expressions[index]
        var taken: [TakenBranch] = []
        if isCondition, !expression.code.isConstant { note(expression.code, expression, &taken) }
        follow(expression.code, expression, &taken)
        return taken
    }

    private mutating func note(_ code: Code, _ expression: Expression, _ taken: inout [TakenBranch]) {
        taken.append(TakenBranch(branch: expression.branch(code), truth: truth(code).0))
    }

    private mutating func follow(_ code: Code, _ expression: Expression, _ taken: inout [TakenBranch]) {
        switch code.kind {
        case .and, .or:
            let deciding: Truth = if case .and = code.kind { .no } else { .yes }
            for child in code.children {
                if !child.decides, !child.isConstant { note(child, expression, &taken) }
                follow(child, expression, &taken)
                if truth(child).0 == deciding { return }
            }
        case .conditional:
            let condition = code.children[0]
            if !condition.decides, !condition.isConstant { note(condition, expression, &taken) }
            follow(condition, expression, &taken)
            switch truth(condition).0 {
            case .yes: follow(code.children[1], expression, &taken)
            case .no: follow(code.children[2], expression, &taken)
            case .error: break
            }
        case .macro: follow(code.children[0], expression, &taken)
        default: for child in code.children { follow(child, expression, &taken) }
        }
    }
}
