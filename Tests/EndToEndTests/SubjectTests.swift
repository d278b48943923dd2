// `switchyard consent subject` lists everything that a router stores about a person.

import Foundation
import Glibc
import Testing

/// A plan with an unreachable server. Events wait on disk for one provider and in memory for another, and the third one makes dead letters.
private let routes = """
    { "keys": { "ids": "0123456789abcdef0123456789abcdef", "disk": "fedcba9876543210fedcba9876543210" },
      "state": { "encrypt": "disk" },
      "consent": { "ledger": "ids", "levels": { "none": [], "all": ["analytics"] }, "unknown": { "assume": "all" }, "default": "all" },
      "providers": {
        "far": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "disk": "100MB" } } },
        "near": { "plugin": "http", "url": "http://127.0.0.1:9" },
        "lost": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "retry": { "first": "1ms", "most": "2ms", "for": "5ms" } } } },
      "routes": [ { "name": "all", "to": ["far", "near", "lost"], "transform": [ { "drop": ["userId"] } ] } ] }
    """

@Suite("A request for access")
struct SubjectTests {
    private func consent(_ router: TestRouter, _ words: String...) throws -> Result {
        try router.run(["consent"] + words + ["--state", router.path("state")])
    }

    /// Returns the lines of the answer by place. Each line must be an object.
    private func subject(_ router: TestRouter, _ id: String) throws -> [String: [NSDictionary]] {
        let result = try consent(router, "subject", id)
        #expect(result.code == 0, "\(result.errors)")
        let lines = try result.lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as! NSDictionary }
        return Dictionary(grouping: lines) { $0["place"] as! String }
    }

    private func letters(_ router: TestRouter) throws -> Int {
        try router.run(["dead-letters", "--events", "--state", router.path("state")]).lines.count
    }

    @Test("returns all events of the person and no others, beside the router and after a kill")
    func everywhere() throws {
        let router = try TestRouter(routes: routes)
        let run = try router.startRouter()
        #expect(try consent(router, "set", "ann", "--level", "all").code == 0)
        #expect(try consent(router, "tie", "ann", "phone").code == 0)
        for (index, id) in [#""userId":"ann""#, #""anonymousId":"phone""#, #""userId":"bob""#].enumerated() {
            run.send(#"{\#(id),"n":\#(index)}"# + "\n")
        }
        try waitUntil("they are stored and given up") { try letters(router) == 3 }
        func check(_ places: [String]) throws {
            let found = try subject(router, "ann")
            #expect(Set(found.keys) == Set(["ledger"] + places))
            for place in places {
                let lines = try #require(found[place])
                #expect(lines.map { ($0["event"] as? NSDictionary)?["n"] as? Int } == [0, 1], "\(place)")
                #expect(lines.map { $0["by"] as? String } == ["id", "tie"] && lines.allSatisfy { $0["route"] as? String == "all" })
                #expect(lines.allSatisfy { ($0["arrival"] as? String)?.hasPrefix("20") ?? false })
            }
            let record = try #require(found["ledger"]?.first)
            #expect((record["record"] as? NSDictionary)?["level"] as? String == "all" && (record["ties"] as? NSArray)?.count == 1)
            #expect((record["history"] as? NSArray)?.count == 1)
            #expect(try subject(router, "phone")["dead letters"]?.map { $0["by"] as? String } == ["tie", "id"])
            #expect(try subject(router, "nobody").keys.sorted() == ["ledger"])
            #expect(try subject(router, "nobody")["ledger"]?.first?["known"] as? Bool == false)
        }
        try check(["queue of far", "memory of near", "dead letters"])
        run.end(by: SIGKILL)
        try check(["queue of far", "dead letters"])

        #expect(try consent(router, "withdraw", "ann").code == 0)
        let again = try router.startRouter()
        // The socket of the killed router may still exist. A command that gets no answer there would lock the folder.
        try waitUntil("it answers") { try router.command("status", "--json").text.contains(#""running":true"#) }
        try waitUntil("all of it is destroyed") { try subject(router, "ann").keys.sorted() == ["ledger", "receipts"] }
        #expect(try subject(router, "bob")["dead letters"]?.count == 1)
        again.end(by: SIGKILL)
    }

    @Test("returns a long answer in parts, without a gap", arguments: [false, true])
    func parts(isRunning: Bool) throws {
        let router = try TestRouter(routes: routes.replacing(#""state": { "encrypt": "disk" },"#, with: ""))
        let run = try router.startRouter()
        let text = String(repeating: "x", count: 4000)
        run.send((0..<800).map { #"{"userId":"\#($0 % 2 == 0 ? "ann" : "bob")","n":\#($0),"text":"\#(text)"}"# + "\n" }.joined())
        try waitUntil("they are stored and given up") { try letters(router) == 800 }
        if !isRunning { run.end(by: SIGKILL) }
        let found = try subject(router, "ann")
        let wanted = stride(from: 0, to: 800, by: 2).map { $0 }
        for place in ["queue of far", "dead letters"] {
            let isWhole = found[place]?.compactMap { ($0["event"] as? NSDictionary)?["n"] as? Int }.sorted() == wanted
            #expect(isWhole, "\(place)")
        }
        if isRunning { run.end(by: SIGKILL) }
    }

    @Test("takes one id, and says so")
    func usage() throws {
        let router = try TestRouter(routes: routes)
        #expect(try consent(router, "set", "ann", "--level", "all").code == 0)
        #expect(try consent(router, "subject").errors.contains("subject takes one id, was given 0"))
        #expect(try consent(router, "subject", "ann", "--json").errors.contains("consent subject takes no --json"))
    }
}
