// Evaluates random expressions on random events. None may crash or hang, and every fault must point into its text. The quick decision,
// the full evaluation and the decision that `explain` shows must agree.
// usage: fuzz-expressions [--seconds N] [--seed S] [--plant]
// Prints one line of sums. Exits with 1 if there is any difference. `--plant` falsifies the quick decision in a rare case. The fuzzer must
// find this.

import Events
import Expressions
@preconcurrency import Glibc
import Seeded

var limit = 10.0
var seed: UInt64 = 1
var plants = false
var arguments = CommandLine.arguments.dropFirst()
func usage() -> Never {
    fputs("usage: fuzz-expressions [--seconds N] [--seed S] [--plant]\n", stderr)
    exit(64)
}
while let argument = arguments.popFirst() {
    switch argument {
    case "--seconds":
        guard let value = arguments.popFirst().flatMap({ Double($0) }), value > 0 else { usage() }
        limit = value
    case "--seed":
        guard let value = arguments.popFirst().flatMap({ UInt64($0) }) else { usage() }
        seed = value
    case "--plant": plants = true
    default: usage()
    }
}

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

var differences = 0
@MainActor func complain(_ what: String, _ expression: String, _ event: String) {
    differences += 1
    if differences <= 10 { fputs("fuzz-expressions: \(what): \(String(reflecting: expression)) on \(event)\n", stderr) }
}

var writer = Writer(random: Seeded(state: seed))
var read = 0
var compiled = 0
var decided = 0
var slowest = 0.0
let deadline = now() + limit
repeat {
    let text = String(decoding: writer.expression(), as: UTF8.self)
    read += 1
    let expression: Expression
    do throws(ExpressionFault) {
        expression = try Expression(text)
    } catch {
        if error.offset < 0 || error.offset > text.utf8.count || error.message.isEmpty { complain("a fault at \(error.offset)", text, "") }
        continue
    }
    compiled += 1
    let paths = PathTrie(expression.paths)
    var evaluator = Evaluator(ExpressionSet([expression], paths: paths), sources: ["stdin"])
    var scanner = Scanner(paths)
    for _ in 0..<8 {
        let line = writer.event()
        var block = Block()
        block.text.append(line)
        block.seal()
        guard let event = scanner.scan(block.bytes, 0) else { continue }
        let around = EvaluationContext(now: 1_000_000_000)
        let began = now()
        var truth = evaluator.decide(0, event: event, around: around)
        if plants, truth == .no, text.utf8.count % 31 == 7 { truth = .error }
        var thorough = Truth.error
        var isLimit = false
        switch evaluator.value(0, event: event, around: around) {
        case .success(let value):
            if case .bool(let holds) = value { thorough = holds ? .yes : .no }
            // Every value that can be written is written as valid JSON.
            if let json = value.json {
                var written = Block()
                written.text.append("{\"v\":\(json)}")
                written.seal()
                var reader = Scanner(PathTrie([]))
                if reader.scan(written.bytes, 0) == nil { complain("a value that is not JSON, \(json)", text, line) }
            }
        case .failure(let fault):
            isLimit = fault.message.contains("than it may")
            if fault.range.upperBound > text.utf8.count { complain("a part beyond the end", text, line) }
        }
        decided += 1
        slowest = max(slowest, now() - began)
        // A limit that stops the full evaluation may not stop the quick decision, because that counts fewer steps.
        if truth != thorough, !isLimit { complain("the quick decision is \(truth), the full evaluation gives \(thorough)", text, line) }
        let decision = evaluator.decision(0, event: event, around: around)
        if decision.holds != (thorough == .yes) { complain("the explained decision differs from the value", text, line) }
    }
} while now() < deadline

// One second is a hundred times as long as the steps of one evaluation take.
if slowest > 1 { complain("an evaluation took \(slowest) s", "", "") }
print(
    "fuzz-expressions: seed \(seed), \(read) expressions, \(compiled) compiled, \(decided) evaluated, slowest \((slowest * 1000).rounded()) ms, "
        + "\(differences) differences")
exit(differences == 0 ? 0 : 1)
