// The branches of expressions and which of them an event takes, and the parts by which two conditions are compared.

import Events
import Testing

@testable import Expressions

@Suite("The branches of an expression") struct BranchTests {
    private func taken(_ text: String, _ event: String, isCondition: Bool = true) throws -> [String] {
        let expression = try Expression(text)
        let paths = PathTrie(expression.paths)
        var scanner = Scanner(paths)
        var block = Block()
        block.text.append(event)
        block.seal()
        guard let scanned = scanner.scan(block.bytes, 0) else { return [] }
        var evaluator = Evaluator(ExpressionSet([expression], paths: paths))
        return evaluator.takenBranches(0, isCondition: isCondition, event: scanned, around: EvaluationContext(now: 0))
            .map { "\($0.branch.part) \($0.truth)" }
    }

    @Test(
        "are the whole condition, the operands of && and ||, and the conditions of ? :",
        arguments: [
            ("a", ["a"]), ("!a", ["!a"]), ("a && b", ["a && b", "a", "b"]), ("a && b || !c", ["a && b || !c", "a", "b", "!c"]),
            ("!(a || b) && c", ["!(a || b) && c", "a", "b", "c"]), ("a ? b : c", ["a ? b : c", "a"]),
            ("(a || b ? c : d) == 1", ["(a || b ? c : d) == 1", "a", "b"]), ("size(a ? b : c) > 1", ["size(a ? b : c) > 1", "a"]),
            // The parts of a macro run for each element, and a constant has one side.
            ("a.exists(i, i && b)", ["a.exists(i, i && b)"]), ("a && true", ["a && true", "a"]), ("a && a", ["a && a", "a", "a"]),
        ])
    func places(text: String, parts: [String]) throws {
        #expect(try Expression(text).branches(isCondition: true).map(\.part) == parts)
        #expect(try Expression(text).branches(isCondition: false).map(\.part) == Array(parts.dropFirst()))
    }

    @Test("are taken up to the part that decides")
    func followed() throws {
        #expect(try taken("a && b", #"{"a":true,"b":false}"#) == ["a && b no", "a yes", "b no"])
        #expect(try taken("a && b", #"{"a":false,"b":true}"#) == ["a && b no", "a no"])
        #expect(try taken("a || b && c", #"{"a":true,"b":true,"c":true}"#) == ["a || b && c yes", "a yes"])
        #expect(try taken("a || b && c", #"{"a":false,"b":true,"c":true}"#) == ["a || b && c yes", "a no", "b yes", "c yes"])
        #expect(try taken("!(a || b)", #"{"a":false,"b":true}"#) == ["!(a || b) no", "a no", "b yes"])
        // A part without a value does not decide.
        #expect(try taken("a && b", #"{"b":false}"#) == ["a && b no", "a error", "b no"])
        #expect(try taken("a ? b && c : d || e", #"{"a":true,"b":false}"#, isCondition: false) == ["a yes", "b no"])
        #expect(try taken("a ? b && c : d || e", #"{"a":false,"d":true}"#, isCondition: false) == ["a no", "d yes"])
        #expect(try taken("a ? b && c : d || e", "{}", isCondition: false) == ["a error"])
    }

    @Test(
        "a condition that is true or false has parts that are true or false",
        arguments: [
            ("a && b == 1", ["a", "b == 1"], ["!(a && b == 1)"]), ("a || b", ["a || b"], ["!(a)", "!(b)"]),
            ("!(a || b)", ["!(a)", "!(b)"], ["(a || b)"]),
            ("!(a && !b)", ["!((a && !b))"], ["a", "!(b)"]), ("!!a", ["a"], ["!(a)"]),
        ])
    func parts(text: String, ifTrue: [String], ifFalse: [String]) throws {
        func words(_ parts: [ConditionPart]) -> [String] { parts.map { $0.isNegated ? "!(\($0.text))" : $0.text } }
        #expect(try words(Expression(text).conjuncts) == ifTrue)
        #expect(try words(Expression(text).disjunctsDenied) == ifFalse)
    }

    @Test("parts are equal if their tokens are, whatever the space between them")
    func equal() throws {
        func part(_ text: String) throws -> ConditionPart { try Expression(text).conjuncts[0] }
        #expect(try part("a>1") == part("a  >  1") && part("a>1").hashValue == part("a > 1").hashValue)
        #expect(try part("a == 'x y'") != part("a == 'xy'") && part("a == 'x'") != part("a == \"x\""))
        #expect(try part("a in b") != part("ainb") && part("a > 1") != part("a > 2"))
        #expect(try part("!a") == part("a").opposite && part("!a") != part("a"))
        #expect(try part("now > timestamp(a)").dependsOnWay && part("source == a").dependsOnWay && !part("a.nowhere == 'now'").dependsOnWay)
    }
}
