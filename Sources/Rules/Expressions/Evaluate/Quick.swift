// Decides the usual conditions on the bytes of the event: a comparison of a member with a constant, `has`, and their combinations by
// `&&`, `||` and `!`. The nodes are plain values in memory that never moves. Therefore they make no values and count no references.
// The answer is the same as that of the code that a node replaces, except that other steps are counted: none for a usual text, and few for a
// long one. A condition that has no node of its own is left to its code.

internal import Events

/// The result of a condition.
public enum Truth: UInt8, BitwiseCopyable, Sendable {
    case no, yes
    /// The evaluation of the condition fails on this event.
    case error
}

struct Quick: BitwiseCopyable {
    enum Kind: UInt8, BitwiseCopyable {
        case constant, and, or, not
        /// The member itself is the condition: true or false.
        case flag
        case has
        /// Compares a member with a constant string.
        case equalText, startsWith, endsWith, holdsText, glob
        /// The member is one of several constant strings. Each string is a node, from `left` up to `right`.
        case anyText
        case compareNumber
        /// Compares a member with true, false or null.
        case equalWord
        /// The code with the index `left` decides.
        case general
    }

    var kind: Kind
    /// True for `!=`, and for the constant false.
    var isNegated = false
    var comparison = Operator.equal
    var slot = 0
    var parent = 0
    /// The indices of its operands.
    var left = 0
    var right = 0
    var text = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    var number = JSONNumber.int(0)
}

/// Compiles as much of a condition as it can into nodes, and holds the strings to which they point.
struct QuickCompiler {
    private(set) var nodes: [Quick] = []
    private(set) var general: [Code] = []
    private(set) var held: [UnsafeMutablePointer<UInt8>] = []
    private let slots: [Int]
    private let parents: [Int]

    init(slots: [Int], parents: [Int]) {
        self.slots = slots
        self.parents = parents
    }

    /// Adds the node of this code and returns its index.
    mutating func add(_ code: Code) -> Int {
        let node = translate(code) ?? leave(code)
        nodes.append(node)
        assert(isSound(node), "an operand of a condition does not come before the condition")
        return nodes.count - 1
    }

    /// True if the operands of the last node exist and come before it, so that a condition never runs in a circle.
    private func isSound(_ node: Quick) -> Bool {
        let before = 0..<(nodes.count - 1)
        return switch node.kind {
        case .and, .or: before.contains(node.left) && before.contains(node.right)
        case .not: before.contains(node.left)
        case .anyText: before.contains(node.left) && node.left < node.right && node.right <= before.upperBound
        case .general: general.indices.contains(node.left)
        case .constant, .flag, .has, .equalText, .startsWith, .endsWith, .holdsText, .glob, .compareNumber, .equalWord: true
        }
    }

    private mutating func leave(_ code: Code) -> Quick {
        general.append(code)
        return Quick(kind: .general, left: general.count - 1)
    }

    private mutating func translate(_ code: Code) -> Quick? {
        switch code.kind {
        case .constant:
            guard case .bool(let value) = code.constant else { return nil }
            return Quick(kind: .constant, isNegated: !value)
        case .and, .or:
            let left = add(code.children[0])
            let right = add(code.children[1])
            let isAnd = if case .and = code.kind { true } else { false }
            return Quick(kind: isAnd ? .and : .or, left: left, right: right)
        case .not: return Quick(kind: .not, left: add(code.children[0]))
        case .member: return member(code, .flag)
        case .testMember: return Quick(kind: .has, slot: slots[code.index], parent: parents[code.index])
        case .equal(let isNegated): return comparison(code, isNegated ? .unequal : .equal)
        case .order(let kind): return comparison(code, kind)
        case .contains: return list(code)
        case .call(.startsWith): return text(code, .startsWith)
        case .call(.endsWith): return text(code, .endsWith)
        case .call(.contains): return text(code, .holdsText)
        case .call(.glob): return text(code, .glob)
        default: return nil
        }
    }

    private func member(_ code: Code, _ kind: Quick.Kind) -> Quick? {
        guard case .member = code.kind, code.typeName == nil else { return nil }
        return Quick(kind: kind, slot: slots[code.index])
    }

    private mutating func comparison(_ code: Code, _ comparison: Operator) -> Quick? {
        var comparison = comparison
        var (side, other) = (code.children[0], code.children[1])
        if side.isConstant {
            swap(&side, &other)
            comparison = comparison.mirrored
        }
        guard case .constant = other.kind else { return nil }
        let isEquality = comparison == .equal || comparison == .unequal
        switch other.constant {
        case .int, .uint, .double:
            guard var quick = member(side, .compareNumber) else { return nil }
            quick.comparison = comparison
            quick.number = other.constant.number!
            return quick
        case .string(let constant) where isEquality:
            guard var quick = member(side, .equalText) else { return nil }
            quick.isNegated = comparison == .unequal
            quick.text = hold(constant.bytes)
            return quick
        case .bool, .null:
            guard isEquality, var quick = member(side, .equalWord) else { return nil }
            quick.isNegated = comparison == .unequal
            quick.text = hold(Array((Machine.text(other.constant) ?? "").utf8))
            return quick
        default: return nil
        }
    }

    /// A glob can cost as much as its bytes times those of the text. A longer one is left to its code, which counts steps.
    private static let longestGlob = 64

    private mutating func text(_ code: Code, _ kind: Quick.Kind) -> Quick? {
        guard case .constant = code.children[1].kind, case .string(let constant) = code.children[1].constant,
            kind != .glob || constant.bytes.count <= QuickCompiler.longestGlob, var quick = member(code.children[0], kind)
        else { return nil }
        quick.text = hold(constant.bytes)
        return quick
    }

    private mutating func list(_ code: Code) -> Quick? {
        guard case .constant = code.children[1].kind, case .list(.values(let values)) = code.children[1].constant, !values.isEmpty,
            var quick = member(code.children[0], .anyText)
        else { return nil }
        var texts: [TextValue] = []
        for value in values {
            guard case .string(let text) = value else { return nil }
            texts.append(text)
        }
        quick.left = nodes.count
        for text in texts { nodes.append(Quick(kind: .equalText, slot: quick.slot, text: hold(text.bytes))) }
        quick.right = nodes.count
        return quick
    }

    private mutating func hold(_ bytes: [UInt8]) -> UnsafeBufferPointer<UInt8> {
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, bytes.count))
        memory.initialize(from: bytes, count: bytes.count)
        held.append(memory)
        return UnsafeBufferPointer(start: memory, count: bytes.count)
    }
}

extension Operator {
    /// The operator that means the same if the sides are exchanged.
    fileprivate var mirrored: Operator {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: self
        }
    }
}

extension Quick {
    /// Returns the steps for comparing a text of so many bytes. A glob can compare each byte of the text with each of its own.
    static func steps(_ node: UnsafePointer<Quick>, bytes: Int) -> Int {
        switch node.pointee.kind {
        case .has, .flag: 0
        case .glob: bytes * max(1, node.pointee.text.count) / EventSteps.bytesOfComparison
        default: bytes / EventSteps.bytesOfComparison
        }
    }

    /// Decides whether a member is one of the constant texts in `choices`. The text of the member is decoded once for all of them.
    @inline(__always) static func isAny(
        _ choices: UnsafeBufferPointer<Quick>, _ node: UnsafePointer<Quick>, _ event: ScannedEvent
    ) -> Truth {
        let slot = event.slots[node.pointee.slot]
        guard slot.isPresent else { return .error }
        let start = event.block + Int(slot.start)
        guard start[0] == UInt8(ascii: "\"") else { return .no }
        func find(_ text: UnsafeBufferPointer<UInt8>) -> Truth {
            for choice in choices where choice.text.count == text.count && isSame(text, at: 0, constant: choice.text) { return .yes }
            return .no
        }
        let body = UnsafeBufferPointer(start: start + 1, count: Int(slot.end - slot.start) - 2)
        guard Text.isEscaped(body) else { return find(body) }
        return Text.withText(body) { text in text.map(find) ?? .error }
    }

    /// Decides a node of a kind that looks at one member.
    @inline(__always) static func look(_ node: UnsafePointer<Quick>, _ event: ScannedEvent) -> Truth {
        let slot = event.slots[node.pointee.slot]
        if node.pointee.kind == .has {
            if slot.isPresent { return .yes }
            let holder = event.slots[node.pointee.parent]
            return holder.isPresent && event.block[Int(holder.start)] == UInt8(ascii: "{") ? .no : .error
        }
        guard slot.isPresent else { return .error }
        let start = event.block + Int(slot.start)
        let count = Int(slot.end - slot.start)
        let first = start[0]
        assert(count >= 1 && (first != UInt8(ascii: "\"") || count >= 2), "a value has no bytes, or a string no closing quote")
        switch node.pointee.kind {
        case .compareNumber:
            guard first == UInt8(ascii: "-") || isDigit(first) else {
                // Values of different types are not equal. But a string with a lone surrogate is not a valid value.
                guard node.pointee.comparison == .equal || node.pointee.comparison == .unequal, !isBroken(start, count) else {
                    return .error
                }
                return node.pointee.comparison == .equal ? .no : .yes
            }
            let order = JSONNumber(JSONSpan(start, start + count)).order(node.pointee.number)
            return order.satisfies(node.pointee.comparison) ? .yes : .no
        case .flag: return first == UInt8(ascii: "t") ? .yes : first == UInt8(ascii: "f") ? .no : .error
        case .equalWord:
            guard !isBroken(start, count) else { return .error }
            let text = node.pointee.text
            let isSame = count == text.count && same(start, text)
            return isSame != node.pointee.isNegated ? .yes : .no
        default:
            guard first == UInt8(ascii: "\"") else {
                guard node.pointee.kind == .equalText else { return .error }
                return node.pointee.isNegated ? .yes : .no
            }
            let body = UnsafeBufferPointer(start: start + 1, count: count - 2)
            guard Text.isEscaped(body) else { return holds(node, body) }
            return Text.withText(body) { text in text.map { holds(node, $0) } ?? .error }
        }
    }

    @inline(__always) private static func holds(_ node: UnsafePointer<Quick>, _ text: UnsafeBufferPointer<UInt8>) -> Truth {
        let constant = node.pointee.text
        let answer: Bool
        switch node.pointee.kind {
        case .equalText:
            answer = (text.count == constant.count && isSame(text, at: 0, constant: constant)) != node.pointee.isNegated
        case .startsWith: answer = text.count >= constant.count && isSame(text, at: 0, constant: constant)
        case .endsWith: answer = text.count >= constant.count && isSame(text, at: text.count - constant.count, constant: constant)
        case .glob: answer = matchesGlob(text, constant)
        default: answer = firstPlace(of: UnsafeRawBufferPointer(constant), in: UnsafeRawBufferPointer(text)) != nil
        }
        return answer ? .yes : .no
    }

    @inline(__always) private static func isSame(_ text: UnsafeBufferPointer<UInt8>, at: Int, constant: UnsafeBufferPointer<UInt8>)
        -> Bool
    {
        assert(at >= 0 && at + constant.count <= text.count, "a text is compared beyond its end")
        return constant.isEmpty || same(text.baseAddress! + at, constant)
    }

    @inline(__always) private static func same(_ bytes: Bytes, _ constant: UnsafeBufferPointer<UInt8>) -> Bool {
        for i in 0..<constant.count where bytes[i] != constant[i] { return false }
        return true
    }

    /// Returns true if the value is a string with a lone surrogate, which is not valid text.
    @inline(never) private static func isBroken(_ start: Bytes, _ count: Int) -> Bool {
        guard start[0] == UInt8(ascii: "\"") else { return false }
        return Text.withText(UnsafeBufferPointer(start: start + 1, count: count - 2)) { $0 == nil }
    }
}
