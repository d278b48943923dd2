// Tests what a search for a regular expression costs, and what is too much.

import Events
import Testing

@testable import Expressions

@Suite struct PatternTests {
    private func matches(_ pattern: String, _ text: String) -> String {
        outcome(of: "s.matches('\(pattern)')", variables: ["s": .string(TextValue(text))])
    }

    /// Text of which each byte keeps hundreds of threads of the pattern alive.
    private func hard(_ bytes: Int) -> String {
        var state: UInt32 = 1
        return String(
            decoding: (0..<bytes).map { _ in
                state = state &* 1_103_515_245 &+ 12345
                return state >> 16 & 1 == 0 ? UInt8(ascii: "a") : UInt8(ascii: "b")
            }, as: UTF8.self)
    }

    @Test func `a match is charged the bytes of the text times the instructions of the pattern`() {
        #expect(matches("a[ab]{900}c", hard(1_000_000)).contains("takes more steps than it may"))
        #expect(matches("a[ab]{900}c", hard(20_000)) == "bool false")
        #expect(matches("[a-z.]+@[a-z]+", String(repeating: "x", count: 500_000)) == "bool false", "a usual pattern may read a long text")
    }

    @Test func `a pattern with too many instructions is refused, with the place and the remedy`() throws {
        #expect(
            fault("this.a.matches('[^a]{1000}')")
                == "15: this regular expression compiles to 8004 instructions, and 5000 are allowed: repeat less, such as {1,50} in place of "
                + "{1,500}, or use + without a bound")
        #expect(fault("this.a.matches('[^@]{10,500}@[a-z]')") == nil)
        #expect(outcome(of: "'a'.matches(p)", variables: ["p": .string(TextValue("[^a]{1000}"))]).contains("or it is too large"))
    }

    @Test func `patterns that are made from values are charged for each attempt`() {
        let text = "[1,2,3,4,5,6,7,8,9,10,11,12].exists(i, 'a'.matches(p + string(i)))"
        #expect(outcome(of: text, variables: ["p": .string(TextValue("(\\pL{100}){3}"))]).contains("takes more steps than it may"))
        #expect(outcome(of: text, variables: ["p": .string(TextValue("x"))]) == "bool false")
    }

    @Test func `a glob with many bytes counts its steps`() throws {
        let glob = "*" + String(repeating: "a", count: 99) + "b"
        let long = #"{"a":"\#(String(repeating: "a", count: 100_000))"}"#
        #expect(try evaluate("glob(this.a, '\(glob)')", on: long).truth == .error)
        #expect(try evaluate("glob(this.a, '\(glob)')", on: #"{"a":"\#(String(repeating: "a", count: 200))b"}"#).truth == .yes)
    }

    @Test(arguments: [
        ("abc", 0, false), ("[0-9]+", 1, false), (#"[\w.+-]+@[\w-]+\.[\w.-]+"#, 3, false), (#"\b\d{1,3}(?:\.\d{1,3}){3}\b"#, 0, false),
        ("x(.*y)?", 1, true), ("(?:a|b)+", 1, true), ("a|b", 0, false), (#"(?i)bearer\s+\S{2,}"#, 2, false), ("x{2,}y{2,3}", 1, false),
        (#"[|*+)]\|\*"#, 0, false), ("[]+*]a", 0, false), ("[^]+]a*", 1, false), ("[[:alpha:]*]b", 0, false), (#"\Qa|b\E+"#, 1, true),
        ("(?:x.*y)*", 2, true), ("(a)?b*", 1, true), ("(?s).*", 1, false),
    ])
    func `a pattern reaches far if a repetition without a bound can be left out`(_ text: String, _ repetitions: Int, _ isFar: Bool) {
        let reach = PatternReach(Array(text.utf8))
        #expect(reach.repetitions == repetitions && reach.isFar == isFar)
    }

    @Test func `all expressions of an event share its steps, and the last ones fail when none are left`() throws {
        let expression = try Expression("this.a.matches('[a-z]+[0-9]')")
        let paths = PathTrie(expression.paths)
        let line = try ScannedLine(#"{"a":"\#(String(repeating: "x", count: 100_000))"}"#, paths)
        var evaluator = Evaluator(ExpressionSet([expression], paths: paths))
        let steps = EventSteps(shared: 15_000)
        defer { steps.destroy() }
        let around = EvaluationContext(now: 0, steps: steps)
        let truths = (0..<4).map { _ in evaluator.decide(0, event: line.event, around: around) }
        #expect(truths.first == .no && truths.last == .error)
        guard case .failure(let fault) = evaluator.value(0, event: line.event, around: around) else {
            Issue.record("an event takes more steps than it has")
            return
        }
        #expect(fault.message == "the expressions and masks of the event take more steps than they may together")
        steps.begin()
        #expect(evaluator.decide(0, event: line.event, around: around) == .no)
    }

    @Test(arguments: ["this.a.contains('y')", "this.a == 'y'", "this.a in ['y', 'z']", "glob(this.a, '*y')"])
    func `a comparison with a long text takes steps, and one with a usual text takes none`(_ text: String) throws {
        let expression = try Expression(text)
        let paths = PathTrie(expression.paths)
        let steps = EventSteps(shared: 100)
        defer { steps.destroy() }
        for (bytes, isUsual) in [(1000, true), (40_000, false)] {
            let line = try ScannedLine(#"{"a":"\#(String(repeating: "x", count: bytes))"}"#, paths)
            var evaluator = Evaluator(ExpressionSet([expression], paths: paths))
            let around = EvaluationContext(now: 0, steps: steps)
            #expect(evaluator.decide(0, event: line.event, around: around) == .no)
            let taken = 100 - steps.available
            #expect(isUsual == (taken == 0))
            guard !isUsual else { continue }
            steps.left = EventSteps.Left(shared: taken - 1, own: 0)
            #expect(evaluator.decide(0, event: line.event, around: around) == .error && steps.available == 0)
        }
    }

    @Test(arguments: [
        ("[a-z0-9._%+-]+@[a-z0-9.-]+[.][a-z]{2,}", 10), (#"https?://[^\s/$.?#].[^\s]*"#, 5),
        ("^v?[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?$", 10), ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", 3),
        ("([0-9]{1,3}[.]){3}[0-9]{1,3}", 6), ("[0-9]{4}-[0-9]{2}-[0-9]{2}", 12), ("(?i)(error|failed|timeout|refused|denied)", 5),
    ])
    func `the steps of one route suffice for a usual pattern on so many kilobytes`(_ pattern: String, _ kilobytes: Int) throws {
        let bytes = kilobytes * 1000
        #expect(try CompiledPattern(Array(pattern.utf8)).steps(toRead: bytes) + bytes / 64 <= EventSteps.ofRule)
    }

    @Test(arguments: [
        "a <= b", "a.startsWith(b)", "a.endsWith(b)", "!isIP(a)", "a.trim() == a", "a == b", "a.contains(b)", "a.indexOf(b) == 0",
        "size(a) > 0", "glob(a, '*')", "bytes(a) == bytes(b)", "string(bytes(a)) == b", "a.reverse() != ''", "json(a) != ''",
        "a.format([1]) == b",
    ])
    func `whatever reads a long text takes a step for each 64 bytes, each time`(_ text: String) throws {
        let many = "[0,1,2,3,4,5,6,7,8,9].all(i, \(text))"
        let expression = try Expression("cel.bind(a, this.a, cel.bind(b, this.b, \(many)))")
        let paths = PathTrie(expression.paths)
        let steps = EventSteps()
        defer { steps.destroy() }
        let bytes = 32_000
        let long = String(repeating: "x", count: bytes)
        let line = try ScannedLine(#"{"a":"\#(long)","b":"\#(long)"}"#, paths)
        var evaluator = Evaluator(ExpressionSet([expression], paths: paths))
        #expect(evaluator.decide(0, event: line.event, around: EvaluationContext(now: 0, steps: steps)) == .yes)
        let reading = 2 * bytes / 64
        #expect(EventSteps.shared - steps.available >= reading + 10 * bytes / 64)
    }

    @Test func `a value that is written takes steps and bytes like one that is made`() throws {
        let expression = try Expression("[1, 2, 3, 4, 5, 6, 7, 8, 9].map(i, this.a)")
        let paths = PathTrie(expression.paths)
        let set = ExpressionSet([expression], paths: paths)
        let steps = EventSteps()
        defer { steps.destroy() }
        let around = EvaluationContext(now: 0, steps: steps)
        var evaluator = Evaluator(set)
        var buffer = ByteBuffer()
        for (bytes, isWritten) in [(100_000, true), (2_000_000, false)] {
            let line = try ScannedLine("{\"a\":[\(String(repeating: "1,", count: bytes / 2))1]}", paths)
            steps.begin()
            buffer.removeAll()
            #expect(evaluator.write(0, event: line.event, around: around, to: &buffer) == isWritten)
            let written = buffer.count
            #expect((written > 9 * bytes) == isWritten)
            guard isWritten else { continue }
            #expect(EventSteps.shared - steps.available >= 9 * bytes / 64)
        }
        let left = buffer.count
        #expect(left == 0)
        let line = try ScannedLine("{\"a\":[\(String(repeating: "1,", count: 1_000_000))1]}", paths)
        #expect(evaluator.fault(0, event: line.event, around: EvaluationContext(now: 0))?.message.contains("larger values") == true)
    }
}
