// Events that are older than `retention` allows are destroyed in all files of the state folder.

import Foundation
import Glibc
import Testing

private func routes(route: String = "", delivery: String = "", url: String = "http://127.0.0.1:9") -> String {
    """
    { "providers": { "far": { "plugin": "http", "url": "\(url)", "delivery": { "queue": { "disk": "100MB" }\(delivery) } } },
      "routes": [ { "name": "old", "events": ["old_*"]\(route), "to": ["far"] }, { "name": "rest", "else": true, "to": ["far"] } ] }
    """
}

extension TestRouter {
    fileprivate func files(holding text: String) -> [String] {
        (try! FileManager.default.contentsOfDirectory(atPath: path("state"))).filter { name in
            FileManager.default.contents(atPath: path("state/" + name))?.range(of: Data(text.utf8)) != nil
        }
    }

    fileprivate func lane() throws -> NSDictionary? { (try status()["lanes"] as? [NSDictionary])?.first }
}

@Suite("Retention, end to end")
struct RetentionTests {
    private let events = (0..<40).map { #"{"event":"\#($0 % 2 == 0 ? "old" : "new")_\#($0)","note":"planted-\#($0 % 2)"}"# + "\n" }.joined()

    @Test("destroys and counts old events on disk while the router runs and when it starts, and only those")
    func spool() throws {
        let router = try TestRouter(routes: routes())
        var run = try router.startRouter()
        run.send(events)
        try waitUntil("all are stored") { try router.lane()?["events"] as? Int == 40 }
        #expect(!router.files(holding: "planted-0").isEmpty)
        // A reload sets the retention.
        try router.write(routes(route: #", "retention": "1ms""#), to: "routes.json")
        #expect(try router.command("reload").code == 0)
        try waitUntil("they are destroyed") { try router.lane()?["aged"] as? Int == 20 }
        waitUntil("no file contains them") { router.files(holding: "planted-0").isEmpty }
        #expect(!router.files(holding: "planted-1").isEmpty)
        run.end(by: SIGKILL)

        try router.write(routes(delivery: #", "retention": "1ms""#), to: "routes.json")
        run = try router.startRouter()
        try waitUntil("it answers") { try router.command("status", "--json").text.contains(#""running":true"#) }
        try waitUntil("the rest is destroyed") { try router.lane()?["aged"] as? Int == 20 }
        waitUntil("no file contains it") { router.files(holding: "planted-1").isEmpty }
        #expect(run.finish().code == 69, "they were not delivered")
    }

    @Test("removes old dead letters when a run starts")
    func deadLetters() throws {
        let retry = #", "retry": { "first": "1ms", "most": "2ms", "for": "5ms" }"#
        let router = try TestRouter(routes: routes(delivery: retry))
        var run = try router.startRouter()
        run.send(events)
        func letters() throws -> Int { try router.run(["dead-letters", "--events", "--state", router.path("state")]).lines.count }
        try waitUntil("all are given up") { try letters() == 40 }
        run.end(by: SIGKILL)
        try router.write(routes(route: #", "retention": "1ms""#, delivery: retry), to: "routes.json")
        run = try router.startRouter()
        try waitUntil("it answers") { try router.command("status", "--json").text.contains(#""running":true"#) }
        try waitUntil("the old ones are removed") { try letters() == 20 }
        // The router first deletes the letters, and then overwrites their bytes.
        waitUntil("no file contains them") { router.files(holding: "planted-0").isEmpty }
        #expect(router.files(holding: "planted-1") == ["dead-letters.sqlite"])
        let result = run.finish()
        #expect(result.errors.contains("dead letters removed because they are older than retention allows: 20"))
    }
}
