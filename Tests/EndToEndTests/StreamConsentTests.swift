// Consent events in the input of the real executable: on standard input, over HTTP with keys, and across a kill.

import Foundation
import Glibc
import Testing

private func routes(_ sources: String) -> String {
    """
    { "keys": { "ids": "0123456789abcdef0123456789abcdef" }, "sources": { \(sources) },
      "consent": { "ledger": "ids", "default": "standard",
                   "levels": { "none": [], "essential": ["operations"], "standard": ["operations", "analytics"] } },
      "providers": { "out": { "plugin": "console", "format": "ndjson", "delivery": { "batch": { "wait": "1ms" } } } },
      "routes": [ { "to": ["out"] } ] }
    """
}

private let web =
    #""web": { "plugin": "http", "listen": "127.0.0.1:0", "keys": { "center": { "secret": "${env:CENTER}", "consent": "write" }, "app": { "secret": "${env:APP}" } } }"#
private let secrets = ["CENTER": "center-secret-0001", "APP": "app-secret-0000001"]

extension TestRouter {
    fileprivate func record(of id: String) throws -> NSDictionary? {
        let json = try run(["consent", "get", id, "--json", "--state", path("state")], environment: secrets).output
        return (try JSONSerialization.jsonObject(with: json) as? NSDictionary)?["record"] as? NSDictionary
    }

    fileprivate func receipts() throws -> [NSDictionary] {
        let json = try run(["consent", "receipts", "--json", "--state", path("state")], environment: secrets).output
        return try JSONSerialization.jsonObject(with: json) as! [NSDictionary]
    }
}

extension ListeningRouter {
    fileprivate func send(_ body: String, as key: String) throws -> Int {
        try send(body, headers: ["Authorization: Bearer \(secrets[key]!)"]).status
    }
}

@Suite("Consent events in the input")
struct StreamConsentTests {
    @Test("a consent event on standard input applies from its line on, with any number of workers", arguments: [1, 3])
    func standardInput(workers: Int) throws {
        let router = try TestRouter(routes: routes(#""in": { "plugin": "stdin", "consent": "write" }"#))
        // Events of other users between the statements fill whole blocks, so that a worker judges later blocks early.
        var lines: [String] = []
        var admitted = 0
        func event(_ user: Int, isAdmitted: Bool) {
            lines.append(#"{"userId":"u\#(user)","event":"e","pad":"\#(String(repeating: "x", count: 300))"}"#)
            admitted += isAdmitted ? 1 : 0
        }
        // No route takes events of type consent.
        func consent(_ user: Int, _ words: String) {
            lines.append(#"{"type":"consent","userId":"u\#(user)","consent":{\#(words)}}"#)
        }
        for round in 0..<8 {
            for user in 0..<20 { consent(user, #""level":"standard","version":"\#(round)""#) }
            for n in 0..<1000 { event(n % 20, isAdmitted: true) }
            for user in 0..<10 { consent(user, #""denied":["analytics"]"#) }
            for user in 10..<15 { consent(user, #""withdrawn":true"#) }
            for n in 0..<1000 { event(n % 20, isAdmitted: n % 20 >= 15) }
        }
        let run = try router.run(["--workers", "\(workers)", "--stats", "json"], input: lines.joined(separator: "\n"))
        let account = try #require(JSONSerialization.jsonObject(with: Data(run.errorLines.last!.utf8)) as? NSDictionary)
        let route = (account["routes"] as? [NSDictionary])?.first
        #expect(route?["admitted"] as? Int == admitted)
        #expect((account["consent"] as? NSDictionary)?["taken"] as? Int == 8 * 35)
        #expect(try router.receipts().count == 40)
    }

    @Test("a key that may write can grant, tie and erase; any other key can only refuse")
    func keys() throws {
        let router = try TestRouter(routes: routes(web))
        #expect(try router.run(["check"], environment: secrets).text.contains("keys center (may write the ledger), app"))
        let post = try ListeningRouter(router, environment: secrets)
        let grant = #"{"type":"consent","userId":"ann","consent":{"level":"standard"}}"#
        #expect(try post.send(grant, as: "APP") == 200)
        #expect(try router.record(of: "ann") == nil)
        #expect(try post.send(grant + "\n" + #"{"userId":"ann","event":"granted"}"#, as: "CENTER") == 200)
        #expect(try router.record(of: "ann")?["origin"] as? String == "source web")
        let identify = #"{"type":"identify","userId":"ann","anonymousId":"phone"}"#
        #expect(try post.send(identify + "\n" + #"{"anonymousId":"phone","event":"not tied"}"#, as: "APP") == 200)
        #expect(try post.send(identify + "\n" + #"{"anonymousId":"phone","event":"tied"}"#, as: "CENTER") == 200)
        #expect(try post.send(#"{"type":"reset","anonymousId":"phone"}"#, as: "APP") == 200)
        #expect(try post.send(#"{"anonymousId":"phone","event":"still tied"}"#, as: "APP") == 200)
        let lines = post.run.outputLines(5)
        #expect(
            lines.filter { $0.contains(#""event":"#) }.map { $0.components(separatedBy: #""event":""#)[1].dropLast(2) } == [
                "granted", "tied", "still tied",
            ])
        let withdrawal = #"{"type":"consent","userId":"ann","consent":{"withdrawn":true}}"#
        #expect(try post.send(withdrawal, as: "APP") == 200)
        #expect(try router.record(of: "ann")?["withdrawn"] as? Bool == true)
        #expect(try router.receipts().isEmpty)
        #expect(try post.send(withdrawal, as: "CENTER") == 200)
        #expect(try router.receipts().count == 1)
        let result = post.finish()
        #expect(result.errorLines.filter { $0.contains(#"only a source or key with "consent": "write" may"#) }.count == 1)
        #expect(result.code == 0)
    }

    @Test("a consent event is in the ledger once it was answered, even if the router is killed then")
    func killed() throws {
        let router = try TestRouter(routes: routes(web))
        for round in 0..<5 {
            let post = try ListeningRouter(router, environment: secrets)
            #expect(try post.send(#"{"type":"consent","userId":"u\#(round)","consent":{"level":"essential"}}"#, as: "CENTER") == 200)
            #expect(try post.send(#"{"type":"consent","userId":"u\#(round)","consent":{"withdrawn":true}}"#, as: "APP") == 200)
            #expect(try post.send(#"{"type":"consent","userId":"v\#(round)","consent":{"withdrawn":true}}"#, as: "CENTER") == 200)
            post.run.end(by: SIGKILL)
            #expect(try router.record(of: "u\(round)")?["withdrawn"] as? Bool == true)
            #expect(try router.record(of: "v\(round)")?["withdrawn"] as? Bool == true)
            #expect(try router.receipts().count == round + 1)
        }
    }
}
