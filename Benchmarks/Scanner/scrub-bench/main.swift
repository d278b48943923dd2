// Measures `scrub` without the router: every string of every event, on one core, the best of several rounds. The first rate is for
// scanning, the second for scanning and scrubbing, and the third for scrubbing, computed from the difference.
// usage: scrub-bench [--rounds N] [--megabytes N]

import Events
@preconcurrency import Glibc
import Lines
import Redaction

var rounds = 15
var megabytes = 16
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--rounds": rounds = arguments.popFirst().flatMap { Int($0) } ?? rounds
    case "--megabytes": megabytes = arguments.popFirst().flatMap { Int($0) } ?? megabytes
    default:
        fputs("usage: scrub-bench [--rounds N] [--megabytes N]\n", stderr)
        exit(64)
    }
}

func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Scans every line, and scrubs it if `scrubs` is true. Returns the number of lines with a finding.
func pass(_ block: borrowing Block, _ trie: PathTrie, scrubs: Bool) -> Int {
    var scanner = Scanner(trie)
    var scrubber = Scrubber(Scrub())
    let all = UnsafeBufferPointer<Int>(start: nil, count: 0)
    let spared = 1
    var found = 0
    var at: UInt32 = 0
    while at < UInt32(block.count) {
        if let event = scanner.scan(block.bytes, at), scrubs, scrubber.scrub(event, in: all, sparing: spared) { found += 1 }
        at = scanner.lineEnd + 1
    }
    return found
}

let trie = try PathTrie([Path(parsing: "messageId")])
print("data      bytes/event   with finds  scan MB/s  scan and scrub MB/s  scrub MB/s")
for data in Data.allCases {
    var generator = Generator(data, seed: 20_240_611)
    var block = Block()
    generator.lines(megabytes << 20).withUnsafeBytes { block.text.append(contentsOf: $0) }
    block.seal()
    var count = 0
    for i in 0..<block.count where block.bytes[i] == 10 { count += 1 }
    var best = [Double.infinity, Double.infinity]
    var found = 0
    for _ in 0..<rounds {
        for (i, scrubs) in [false, true].enumerated() {
            let start = seconds()
            found = pass(block, trie, scrubs: scrubs)
            best[i] = min(best[i], seconds() - start)
        }
    }
    let megabytes = Double(block.count) / 1e6
    let figures = [block.count / count, found * 100 / count] + [best[0], best[1], best[1] - best[0]].map { Int(megabytes / $0) }
    print(data.rawValue, figures[0], "\(figures[1])%", figures[2], figures[3], figures[4], separator: "\t")
}
