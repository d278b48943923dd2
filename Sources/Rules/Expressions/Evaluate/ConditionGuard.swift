// The equalities of a condition that alone make it false: `type == "track"` in `type == "track" && amount > 5`. With them a router decides
// many conditions at once by the value of a member, and evaluates few.

/// The condition is false, without an error, if the event has the member, and its value is none of `values`.
public struct ConditionGuard: Sendable {
    public enum Value: Sendable, Hashable {
        case text([UInt8])
        case integer(Int64)
        /// True, false or null.
        case word([UInt8])
    }

    /// The slot of the member.
    public var slot: Int
    public var values: [Value]
    /// True if the equality is the whole condition: without the member it is an error. In a conjunction another part may still be false.
    public var isWhole: Bool
    /// The condition has taken at most so many steps for each 1,024 bytes of the event when the equality makes it false, and none if the event
    /// is shorter than that.
    public var weight: Int
}

extension ExpressionSet {
    /// Returns the guards of the condition with this index. A part that takes steps on every event is never before them, since the later
    /// rules of the event would otherwise have other steps.
    public func guards(of index: Int) -> [ConditionGuard] {
        let (nodes, root) = quick(index)
        var found: [ConditionGuard] = []
        var weight = 0
        _ = collect(nodes, root, isWhole: true, &weight, &found)
        return found
    }

    /// Adds the guards of the node in the order of evaluation. Returns false at a part behind which there are none.
    private func collect(
        _ nodes: UnsafePointer<Quick>, _ at: Int, isWhole: Bool, _ weight: inout Int, _ found: inout [ConditionGuard]
    ) -> Bool {
        let node = nodes[at]
        if node.kind == .and {
            return collect(nodes, node.left, isWhole: false, &weight, &found)
                && collect(nodes, node.right, isWhole: false, &weight, &found)
        }
        guard let own = ExpressionSet.weight(nodes, at) else { return false }
        weight += own
        if let values = ExpressionSet.values(nodes, node) {
            found.append(ConditionGuard(slot: node.slot, values: values, isWhole: isWhole, weight: weight))
        }
        return true
    }

    /// Returns the values of which a member must have one. Returns nil if the node is no equality.
    private static func values(_ nodes: UnsafePointer<Quick>, _ node: Quick) -> [ConditionGuard.Value]? {
        guard !node.isNegated else { return nil }
        switch node.kind {
        case .equalText: return [.text(Array(node.text))]
        case .equalWord: return [.word(Array(node.text))]
        case .anyText: return (node.left..<node.right).map { .text(Array(nodes[$0].text)) }
        case .compareNumber:
            guard node.comparison == .equal, case .int(let value) = node.number else { return nil }
            return [.integer(value)]
        default: return nil
        }
    }

    /// Returns the most steps of the node for each 1,024 bytes of a member. Returns nil if a part of it is left to its code.
    private static func weight(_ nodes: UnsafePointer<Quick>, _ at: Int) -> Int? {
        let node = nodes[at]
        switch node.kind {
        case .general: return nil
        case .constant, .has, .flag: return 0
        case .and, .or:
            guard let left = weight(nodes, node.left), let right = weight(nodes, node.right) else { return nil }
            return left + right
        case .not: return weight(nodes, node.left)
        case .glob: return max(1, node.text.count)
        case .equalText, .startsWith, .endsWith, .holdsText, .anyText, .compareNumber, .equalWord: return 1
        }
    }
}
