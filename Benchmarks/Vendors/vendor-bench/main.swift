// Measures the mapping of a vendor without a server: batches of events of about 300 bytes, from the lines of a batch to the bodies of its
// requests, on one core, the best of several rounds.
// usage: vendor-bench [--rounds N] [--events N]

import Events
@preconcurrency import Glibc
import PluginKit
import PostHog
import VendorKit

var rounds = 20
var count = 1000
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--rounds": rounds = arguments.popFirst().flatMap { Int($0) } ?? rounds
    case "--events": count = arguments.popFirst().flatMap { Int($0) } ?? count
    default:
        fputs("usage: vendor-bench [--rounds N] [--events N]\n", stderr)
        exit(64)
    }
}

func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: count - text.utf8.count) + text
}

/// Events of about 300 bytes. `id` makes the id of an event.
func events(_ count: Int, _ id: (Int) -> String) -> [String] {
    (0..<count).map { i in
        """
        {"type":"track","event":"Order Completed","messageId":"\(id(i))","userId":"user-\(digits(i % 977, 6))",\
        "timestamp":"2026-11-21T05:49:23.\(digits(i % 1000, 3))Z","properties":{"order":"o-\(digits(i, 8))","total":99.5,"currency":"EUR"},\
        "context":{"ip":"203.0.113.7","library":{"name":"web","version":"1.4.2"},"locale":"de-DE"}}
        """
    }
}

let settings = try Settings(json: #"{"key":"phc_0123456789abcdef"}"#)
let host = Host(log: { _, _ in }, closed: { _ in })
print("vendor    ids      bytes/event  events/s  ns/event  bytes of the body per event")
for (name, id) in [
    ("uuid", { "0190a1b2-c3d4-7e5f-8a9b-\(digits($0, 12))" }), ("other", { "ajs-next-\(digits($0, 12))" }),
] {
    let mapper = try Mapper<PostHog>(settings: settings, host: host, clock: .system)
    let lines = events(count, id)
    let size = lines.reduce(0) { $0 + $1.utf8.count + 1 }
    var best = Double.infinity
    var body = 0
    Batch.with(lines) { batch in
        for _ in 0..<rounds {
            let start = seconds()
            for _ in 0..<20 { body = mapper.requests(batch.lines, arrivals: batch.arrivals)?.body(0).count ?? 0 }
            best = min(best, (seconds() - start) / 20)
        }
    }
    let each = best / Double(count)
    print("posthog   \(name)     \(size / count)          \(Int(1 / each))    \(Int(each * 1e9))       \(body / count)")
}
