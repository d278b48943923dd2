// Compares the scanner with simdjson's DOM on the same lines in one run. The two take turns, and the best of several rounds counts.
// usage: scanner-bench [--rounds N] [--megabytes N] [--only product|numbers|cjk|escapes|spaced] [--write]

import CDocument
import Events
@preconcurrency import Glibc
import Lines

var rounds = 15
var megabytes = 16
var chosen = Data.allCases
var writesOnly = false
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--rounds": rounds = arguments.popFirst().flatMap { Int($0) } ?? rounds
    case "--megabytes": megabytes = arguments.popFirst().flatMap { Int($0) } ?? megabytes
    case "--only": chosen = arguments.popFirst().flatMap { Data(rawValue: $0) }.map { [$0] } ?? chosen
    case "--write": writesOnly = true
    default:
        fputs("usage: scanner-bench [--rounds N] [--megabytes N] [--only DATA] [--write]\n", stderr)
        exit(64)
    }
}

/// The members of an event that a usual configuration needs.
let wanted = try [
    "type", "event", "messageId", "anonymousId", "userId", "timestamp", "properties.revenue", "properties.duration_ms",
    "context.ip", "context.app.version", "context.consent.analytics",
].map { text throws(PathFault) in try Path(parsing: text) }

func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func scanAll(_ block: borrowing Block, _ lookahead: Lookahead, _ trie: PathTrie) -> Int {
    var scanner = Scanner(trie, lookahead: lookahead)
    var valid = 0
    var at: UInt32 = 0
    let end = UInt32(block.count)
    while at < end {
        if scanner.scan(block.bytes, at) != nil { valid += 1 }
        at = scanner.lineEnd + 1
    }
    return valid
}

#if arch(x86_64)
    let portableAgainst = Lookahead.sse2
#else
    let portableAgainst = Lookahead.fastest
#endif
let trie = PathTrie(wanted)
let parser = document_parser_new()
func column(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(1, width - text.utf8.count)) + text }
func twoDigits(_ x: Double) -> String {
    let hundredths = Int((x * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
}

if !writesOnly {
    print(
        "data      bytes/event" + Lookahead.supported.map { column("\($0) MB/s", 12) }.joined() + column("DOM MB/s", 12)
            + column("best:DOM", 10)
            + column("words:\(portableAgainst)", 12) + "   against " + String(cString: document_version()))
}
for data in chosen {
    var generator = Generator(data, seed: 20_240_611)
    var block = Block()
    let text = generator.lines(megabytes << 20)
    text.withUnsafeBytes { block.text.append(contentsOf: $0) }
    block.seal()
    if writesOnly {
        _ = fwrite(block.bytes, 1, block.count, stdout)
        continue
    }
    let events = text.count { $0 == 10 }
    var best = Array(repeating: Double.infinity, count: Lookahead.supported.count + 1)
    for _ in 0..<rounds {
        for (i, lookahead) in Lookahead.supported.enumerated() {
            let start = seconds()
            precondition(scanAll(block, lookahead, trie) == events)
            best[i] = min(best[i], seconds() - start)
        }
        let start = seconds()
        precondition(document_parse_lines(parser, block.bytes, block.count) == events)
        best[best.count - 1] = min(best[best.count - 1], seconds() - start)
    }
    let speeds = best.map { Double(block.count) / $0 / 1e6 }
    let ours = speeds.dropLast().max() ?? 0
    print(
        data.rawValue + column(String(block.count / events), 21 - data.rawValue.utf8.count)
            + speeds.map { column(String(Int($0)), 12) }.joined() + column(twoDigits(ours / speeds[speeds.count - 1]), 10)
            + column(twoDigits(speeds[0] / speeds[Lookahead.supported.firstIndex(of: portableAgainst) ?? 0]), 12))
}
document_parser_free(parser)
