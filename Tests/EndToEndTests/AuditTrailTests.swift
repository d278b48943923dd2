// The audit trail of a real router: what is in it, what is found, and what others can verify.

import Foundation
import Glibc
import Testing

private func routes(verdicts: String = "denied") -> String {
    """
    { "keys": { "ids": "0123456789abcdef0123456789abcdef", "audit": "a literal audit secret of enough bytes" },
      "audit": { "key": "audit", "origin": "example.com/log", "verdicts": "\(verdicts)" },
      "consent": { "ledger": "ids", "levels": { "none": [], "all": ["analytics"] }, "default": "all" },
      "sources": { "in": { "plugin": "stdin", "consent": "write" } },
      "providers": { "out": { "plugin": "file", "path": "out.jsonl" } },
      "routes": [ { "name": "first", "to": ["out"] }, { "name": "second", "events": ["b"], "to": ["out"] } ] }
    """
}

@Suite("The audit trail of a router")
struct AuditTrailTests {
    func audit(_ router: TestRouter, _ words: String...) throws -> Result { try router.run(["audit"] + words) }

    func entries(_ router: TestRouter) throws -> [NSDictionary] {
        try audit(router, "list").lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as! NSDictionary }
    }

    func kinds(_ router: TestRouter) throws -> [String] { try entries(router).map { $0["kind"] as! String } }

    /// Runs the verifier that uses nothing of the router.
    func script(_ router: TestRouter, _ words: String...) throws -> (code: Int32, text: String) {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [root.appendingPathComponent("Scripts/verify-audit.py").path] + words
        process.currentDirectoryURL = URL(fileURLWithPath: router.folder)
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    func key(_ router: TestRouter) throws -> String {
        try audit(router, "key").text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private let events = """
        {"messageId":"message-1","userId":"ann-of-the-test","event":"a"}
        {"messageId":"message-2","userId":"bob-of-the-test","event":"b"}
        {"userId":"bob-of-the-test","event":"c"}
        {"messageId":"message-3","userId":"ann-of-the-test","event":"b"}

        """

    @Test("has the plan without secrets, each decision, and the verdicts of denied events; no id is in it")
    func contents() throws {
        let router = try TestRouter(routes: routes())
        #expect(try router.run(["consent", "set", "ann-of-the-test", "--level", "all"]).code == 0)
        #expect(try router.run(input: events).code == 0)
        #expect(try router.run(["consent", "withdraw", "ann-of-the-test"]).code == 0)
        #expect(try router.run(["consent", "subject", "ann-of-the-test"]).code == 0)
        #expect(try kinds(router) == ["access", "decision", "start", "plan", "verdicts", "access", "decision", "withdrawal", "access"])
        let accesses = try entries(router).filter { $0["kind"] as? String == "access" }
        #expect(accesses.map { $0["what"] as? String } == ["consent set", "consent withdraw", "consent subject"])
        #expect(accesses.allSatisfy { $0["uid"] as? Int == Int(getuid()) && ($0["subject"] as? String)?.count == 32 })
        let verdicts = try #require(try entries(router).first { $0["kind"] as? String == "verdicts" })
        #expect(verdicts["events"] as? Int == 4 && verdicts["rows"] as? Int == 2)
        let counts = verdicts["counts"] as? [NSDictionary]
        #expect(counts == [["admitted": 2, "denied_unknown": 2], ["admitted": 1, "denied_unknown": 1, "filtered_events": 2]])
        for file in FileManager.default.enumerator(atPath: router.path("state/audit"))! {
            guard let bytes = FileManager.default.contents(atPath: router.path("state/audit/\(file)")) else { continue }
            for secret in [
                "ann-of-the-test", "bob-of-the-test", "message-1", "message-2", "0123456789abcdef0123", "a literal audit secret",
            ] {
                #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(file) has \(secret)")
            }
        }
        #expect(try audit(router, "verify").code == 0)
    }

    @Test("has what people do to queues before it is done, who looks at receipts, damaged copies, and other keys")
    func people() throws {
        let down = #""out": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "disk": "10MB" } } }"#
        let text = routes().replacingOccurrences(of: #""out": { "plugin": "file", "path": "out.jsonl" }"#, with: down)
        let router = try TestRouter(routes: text)
        #expect(try router.run(["consent", "set", "ann-of-the-test", "--level", "all"]).code == 0)
        #expect(try router.run(["run", "--drain", "0s"], input: events).code == 0)
        #expect(try router.run(["spool", "move", "out", "later"]).code == 0)
        let destroyed = try router.run(["spool", "destroy", "later", "--yes"])
        #expect(destroyed.code == 0 && destroyed.text.hasSuffix(" events for later were destroyed\n"))
        #expect(try router.run(["consent", "receipts", "ann-of-the-test"]).code == 0)
        try router.write("damaged", to: "state/spool-out.sqlite.damaged-1")
        try router.write(
            text.replacingOccurrences(
                of: "a literal audit secret of enough bytes\"",
                with: "a literal audit secret of enough bytes\", \"more\": \"another secret of enough bytes\""), to: "routes.json")
        #expect(try router.run(["run", "--drain", "0s"]).code == 0)
        let found = try entries(router)
        #expect(
            found.map { $0["kind"] as! String } == [
                "access", "decision", "start", "plan", "verdicts", "moved", "destroyed", "access", "start", "keys", "plan",
            ])
        #expect(found[5]["to"] as? String == "later" && destroyed.text.hasPrefix("\(found[6]["events"] as? Int ?? 0) "))
        #expect(found[6]["place"] as? String == "spool later" && found[6]["uid"] as? Int == Int(getuid()))
        #expect(found[7]["what"] as? String == "consent receipts" && (found[7]["subject"] as? String)?.count == 32)
        #expect(found[8]["set_aside"] as? [String] == ["spool-out.sqlite.damaged-1"])
        #expect((found[9]["keys"] as? NSDictionary)?["keys.more"] != nil)
        #expect(try audit(router, "verify").code == 0)
    }

    @Test("has the jobs of an erasure, with the receipts that have the subjects, and who lists them")
    func erasures() throws {
        let router = try TestRouter(routes: routes())
        #expect(try router.run(["consent", "set", "ann-of-the-test", "--level", "all"]).code == 0)
        #expect(try router.run(["consent", "erase", "ann-of-the-test"]).code == 0)
        #expect(try router.run(["consent", "erasures"]).code == 0)
        let found = try entries(router)
        #expect(found.last?["kind"] as? String == "access" && found.last?["what"] as? String == "consent erasures")
        #expect(try router.run(["consent", "erasures", "--forget", "gone"]).code == 65)
        #expect(try entries(router).last?["what"] as? String == "consent erasures --forget gone")
        let withdrawal = try #require(found.first { $0["kind"] as? String == "withdrawal" })
        let erasure = try #require(found.first { $0["kind"] as? String == "erasure" })
        #expect(erasure["provider"] as? String == "out" && erasure["step"] as? String == "waiting")
        #expect(erasure["receipts"] as? [Int] == [withdrawal["receipt"] as? Int ?? -1])
        #expect(try !audit(router, "list").text.contains("ann-of-the-test"))
        #expect(try audit(router, "verify").code == 0)
    }

    @Test("proves the verdicts of an event, and the history of a person, to a verifier that has only the public key")
    func proofs() throws {
        let router = try TestRouter(routes: routes(verdicts: "all"))
        #expect(try router.run(["consent", "set", "ann-of-the-test", "--level", "all"]).code == 0)
        #expect(try router.run(input: events).code == 0)
        #expect(try audit(router, "prove", "message-1").text.contains("route first   admitted"))
        #expect(try audit(router, "prove", "message-2").text.contains("route second  denied_unknown"))
        #expect(
            try audit(router, "prove", "--line", #"{"userId":"bob-of-the-test","event":"c"}"#).text.contains("route first   denied_unknown")
        )
        #expect(try audit(router, "prove", "message-4").code == 1)
        #expect(try audit(router, "prove", "--subject", "ann-of-the-test").lines.count == 2)
        #expect(try audit(router, "prove", "--subject", "bob-of-the-test").code == 1)
        let proof =
            try audit(router, "prove", "--json", "message-2").text
            + (try audit(router, "prove", "--json", "--subject", "ann-of-the-test").text)
        try router.write(proof, to: "proof")
        let key = try key(router)
        #expect(try script(router, "--key", key, "--proof", "proof").code == 0)
        #expect(try script(router, "--key", key, "state/audit").code == 0)
        let hashing = try audit(router, "key", "--hashing").text.trimmingCharacters(in: .whitespacesAndNewlines)
        try router.write(proof.components(separatedBy: "\n")[0], to: "proof")
        #expect(try script(router, "--key", key, "--proof", "proof", "--id", "message-2", "--hashing", hashing).code == 0)
        #expect(try script(router, "--key", key, "--proof", "proof", "--id", "message-1", "--hashing", hashing).code == 1)
        try router.write(router.read("proof").replacingOccurrences(of: "denied_unknown", with: "admitted______"), to: "proof")
        #expect(try script(router, "--key", key, "--proof", "proof").code == 1)
    }

    @Test("is verified in the same way by the script, which the published test vectors check")
    func verifier() throws {
        let router = try TestRouter(routes: routes())
        #expect(try script(router, "--test").code == 0)
        let many = (0..<600).map { #"{"userId":"u\#($0)","type":"consent","consent":{"level":"all"},"messageId":"c\#($0)"}"# + "\n" }
            .joined()
        #expect(try router.run(input: many).code == 0)
        let key = try key(router)
        try router.write(try audit(router, "head").text, to: "head")
        #expect(try router.run(input: events).code == 0)
        #expect(try script(router, "--key", key, "--head", "head", "state/audit").code == 0)
        #expect(try audit(router, "export", router.path("public")).code == 0)
        #expect(try script(router, "--key", key, "--head", "head", "public").code == 0)
        let files = FileManager.default.enumerator(atPath: router.path("state/audit"))!.map { "state/audit/\($0)" }.filter {
            !$0.hasSuffix("lock") && FileManager.default.contents(atPath: router.path($0))?.isEmpty == false
        }
        #expect(files.count >= 8)
        for file in files {
            let whole = try Data(contentsOf: URL(fileURLWithPath: router.path(file)))
            for at in [whole.count / 3, whole.count - 1] {
                var changed = whole
                changed[at] ^= 1
                try changed.write(to: URL(fileURLWithPath: router.path(file)))
                #expect(try script(router, "--key", key, "state/audit").code == 1, "\(file) byte \(at)")
                #expect(try audit(router, "verify").code == 69, "\(file) byte \(at)")
            }
            try whole.dropLast().write(to: URL(fileURLWithPath: router.path(file)))
            #expect(try script(router, "--key", key, "state/audit").code == 1, "\(file) cut")
            try whole.write(to: URL(fileURLWithPath: router.path(file)))
        }
    }

    @Test("has every decision that was read when the router was killed at any moment, after the next start")
    func kills() throws {
        let router = try TestRouter(routes: routes())
        for round in 0..<4 {
            let run = try router.startRouter()
            let reading = (0..<50).map { batch in
                (0..<20).map { #"{"userId":"k\#(round).\#(batch).\#($0)","type":"consent","consent":{"level":"all"}}"# + "\n" }.joined()
            }
            for text in reading.prefix(10 * (round + 1)) { run.send(text) }
            // At that moment some are on record, and others are still on their way.
            try waitUntil("some are on record") { try router.run(["consent", "get", "k\(round).0.0"]).text.contains("all") }
            run.end(by: SIGKILL)
            #expect(try router.run(input: "").code == 0)
            #expect(try audit(router, "verify").code == 0)
        }
        let history = try router.run(["consent", "export", "--history"]).lines.count
        let decisions = try kinds(router).filter { $0 == "decision" }.count
        #expect(history > 0 && decisions == history)
    }

    @Test("stops the start if it is damaged, was cut off, or knows more than the ledger")
    func refusals() throws {
        let router = try TestRouter(
            routes: routes().replacingOccurrences(of: #""verdicts""#, with: #""heads": { "file": "head" }, "verdicts""#))
        #expect(try router.run(input: events).code == 0)
        let manager = FileManager.default
        try manager.copyItem(atPath: router.path("state"), toPath: router.path("older"))
        #expect(try router.run(["consent", "set", "ann-of-the-test", "--level", "all"]).code == 0)
        #expect(try router.run(input: events).code == 0)
        try manager.copyItem(atPath: router.path("state"), toPath: router.path("newer"))
        func restore(_ name: String, _ files: (String) -> Bool) throws {
            try manager.removeItem(atPath: router.path("state"))
            try manager.copyItem(atPath: router.path("newer"), toPath: router.path("state"))
            for file in try manager.contentsOfDirectory(atPath: router.path(name)) where files(file) {
                try? manager.removeItem(atPath: router.path("state/\(file)"))
                try manager.copyItem(atPath: router.path("\(name)/\(file)"), toPath: router.path("state/\(file)"))
            }
        }
        try restore("older") { $0.hasPrefix("ledger") }
        let behind = try router.run(input: "")
        #expect(behind.code == 69 && behind.errors.contains("switchyard audit accept"))
        #expect(try audit(router, "verify").code == 69)
        #expect(try audit(router, "accept").code == 0)
        #expect(try router.run(input: "").code == 0)
        try restore("older") { $0 == "audit" || $0.hasPrefix("ledger") }
        let cut = try router.run(input: "")
        #expect(cut.code == 69 && cut.errors.contains("was cut off or replaced"))
        try restore("newer") { _ in true }
        let tail = router.path("state/audit/tail-0")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: tail))
        bytes[30] ^= 1
        try bytes.write(to: URL(fileURLWithPath: tail))
        let damaged = try router.run(input: "")
        #expect(damaged.code == 69 && damaged.errors.contains("does not fit its signed head"))
        #expect(try audit(router, "verify").errors.contains("entries do not make up the signed head"))
    }
}
