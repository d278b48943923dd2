// Measures the check of a tracking plan without the router: the schema of all members of `properties`, on one core, the best of several rounds.
// The first time is for scanning an event, the second for scanning and checking it, and the third for checking, computed from the difference.
// The last number is the throughput with the check, as a share of the throughput without.
// usage: plan-bench [--rounds N] [--megabytes N]

import Document
import Events
@preconcurrency import Glibc
import JSONSchema
import Lines

/// What a plan says of the members that `Generator` writes.
let schema = """
    {"type": "object", "properties": {
    "revenue": {"type": "number", "minimum": 0}, "price": {"type": "number", "minimum": 0, "maximum": 100000},
    "quantity": {"type": "integer", "minimum": 1}, "currency": {"enum": ["USD", "EUR", "JPY", "BRL"]},
    "name": {"type": "string", "maxLength": 200}, "category": {"type": "string", "minLength": 1},
    "sku": {"type": "string", "minLength": 1, "maxLength": 40}, "in_stock": {"type": "boolean"},
    "coupon": {"type": ["string", "null"]}, "position": {"type": "integer"}, "query": {"type": "string"},
    "duration_ms": {"type": "integer", "minimum": 0}, "ratio": {"type": "number", "minimum": 0, "maximum": 1},
    "big_id": {"type": "integer"}, "url": {"type": "string", "maxLength": 2000},
    "items": {"type": "array", "maxItems": 100, "items": {"type": "object", "required": ["sku"], "properties": {
    "sku": {"type": "string"}, "qty": {"type": "integer", "minimum": 1}, "price": {"type": "number"}}}},
    "tags": {"type": "array", "items": {"type": "string"}},
    "screen": {"type": "object", "properties": {"name": {"type": "string"}, "depth": {"type": "integer"}}}}}
    """

var rounds = 15
var megabytes = 16
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--rounds": rounds = arguments.popFirst().flatMap { Int($0) } ?? rounds
    case "--megabytes": megabytes = arguments.popFirst().flatMap { Int($0) } ?? megabytes
    default:
        fputs("usage: plan-bench [--rounds N] [--megabytes N]\n", stderr)
        exit(64)
    }
}

func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

let trie = try PathTrie([Path(parsing: "properties")])
let properties = trie.slot(of: try Path(parsing: "properties"))!
let source = Source(Array(schema.utf8))
var compiler = SchemaCompiler()
let root = try compiler.add(try Outline.read(source, resolving: nil).root, in: source)
let compiled = compiler.finish()

/// Scans every line, and checks its properties if `checks` is true. Returns the number of lines that violate the schema.
func pass(_ block: borrowing Block, checks: Bool) -> Int {
    var scanner = Scanner(trie)
    var checker = SchemaChecker(compiled)
    var violations = 0
    var at: UInt32 = 0
    while at < UInt32(block.count) {
        if let event = scanner.scan(block.bytes, at), checks, event.slots[properties].isPresent {
            if checker.check(event.block + Int(event.slots[properties].start), root: root) != nil { violations += 1 }
        }
        at = scanner.lineEnd + 1
    }
    return violations
}

var generator = Generator(.product, seed: 20_240_611)
var block = Block()
generator.lines(megabytes << 20).withUnsafeBytes { block.text.append(contentsOf: $0) }
block.seal()
var count = 0
for i in 0..<block.count where block.bytes[i] == 10 { count += 1 }
var best = [Double.infinity, Double.infinity]
var violations = 0
for _ in 0..<rounds {
    for (i, checks) in [false, true].enumerated() {
        let start = seconds()
        violations = pass(block, checks: checks)
        best[i] = min(best[i], seconds() - start)
    }
}
print("bytes/event  violating  scan ns  scan and check ns  check ns  share")
let times = [best[0], best[1], best[1] - best[0]].map { Int($0 / Double(count) * 1e9) }
print(
    block.count / count, "\(violations * 100 / count)%", times[0], times[1], times[2], "\(Int(best[0] / best[1] * 100))%", separator: "\t")
