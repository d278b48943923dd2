// Measures the mapping of the vendors without a server: batches of events of about 300 bytes, from the lines of a batch to the bodies of its
// requests, without compression, on one core. It prints the best of several rounds, in processor time, so that other programs on the machine
// disturb it little.
// usage: vendor-bench [--rounds N] [--events N]

import Amplitude
import Events
import GA4
@preconcurrency import Glibc
import Mixpanel
import OTLP
import Platform
import PluginKit
import PostHog
import RudderStack
import Segment
import Sentry
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

/// The processor time of this thread.
func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: count - text.utf8.count) + text
}

/// Events of about 300 bytes that each vendor takes, of a few people. Half of the ids are UUIDs, and from the others one is derived.
func events(_ count: Int) -> [String] {
    (0..<count).map { i in
        let id = i % 2 == 0 ? "0190a1b2-c3d4-7e5f-8a9b-\(digits(i, 12))" : "ajs-next-\(digits(i, 12))"
        return """
            {"type":"track","event":"Order Completed","messageId":"\(id)","userId":"user-\(digits(i / 50 % 20, 6))",\
            "timestamp":"2026-11-21T05:49:23.\(digits(i % 1000, 3))Z",\
            "properties":{"order":"o-\(digits(i, 8))","total":99.5,"currency":"EUR","level":"error"},\
            "context":{"ip":"203.0.113.7","library":{"name":"web","version":"1.4.2"},"locale":"de-DE"}}
            """
    }
}

/// The arrival of each event and the time of the delivery, in nanoseconds since 1970: shortly after the events.
let now: Int64 = 1_795_312_800_000_000_000
let lines = events(count)
let size = lines.reduce(0) { $0 + $1.utf8.count + 1 }

@MainActor
func measure<V: Vendor>(_ vendor: V.Type, _ settings: String, _ name: String = V.about.name) throws {
    let clock = Clock(now: { Instant(nanoseconds: 0) }, wall: { now })
    let host = Host(log: { _, _ in }, closed: { _ in })
    let mapper = try Mapper<V>(settings: Settings(json: "{\(settings)}"), host: host, clock: clock)
    var best = Double.infinity
    var body = 0
    var refused = 0
    Batch.with(lines, arrivals: lines.map { _ in now }) { batch in
        for _ in 0..<rounds {
            let start = seconds()
            for _ in 0..<20 {
                guard let requests = mapper.requests(batch.lines, arrivals: batch.arrivals) else { continue }
                body = (0..<requests.count).reduce(0) { $0 + requests.body($1).count }
                refused = requests.refused.count
            }
            best = min(best, (seconds() - start) / 20)
        }
    }
    precondition(refused == 0, "\(name) refuses \(refused) of the events")
    let each = best / Double(count)
    print("\(name) \(size / count) \(Int(1 / each)) \(Int(each * 1e9)) \(body / count)")
}

print("vendor bytes/event events/s ns/event bytes-of-bodies/event")
try measure(PostHog.self, #""key":"phc_0123456789abcdef""#)
try measure(Amplitude.self, #""key":"0123456789abcdef""#)
try measure(Mixpanel.self, #""token":"0123456789abcdef""#)
try measure(GA4.self, #""api_secret":"s3cr3t","measurement_id":"G-1""#)
try measure(OTLP.self, #""encoding":"protobuf""#)
try measure(OTLP.self, #""encoding":"json""#, "otlp-json")
try measure(RudderStack.self, #""write_key":"wk","url":"http://127.0.0.1:1""#)
try measure(Segment.self, #""write_key":"wk""#)
try measure(Sentry.self, #""dsn":"https://k0123456789@sentry.invalid/42""#)
