// Events and records in the state folder that the configuration does not use. The router and check report them, with the commands that move
// or destroy them.

import Foundation
import Glibc
import Testing

private let disk = #", "delivery": { "queue": { "disk": "10MB" } }"#

/// A plan with a provider whose server cannot be reached, and one that writes a file.
private func routes(down: String = "down", queue: String = disk, to: String = "down") -> String {
    """
    { "shutdown": { "deadline": "1ms" },
      "providers": { "\(down)": { "plugin": "http", "url": "http://127.0.0.1:9/"\(queue) },
                     "other": { "plugin": "file", "path": "other.ndjson"\(disk) } },
      "routes": [ { "name": "all", "to": ["\(to)"] } ] }
    """
}

extension TestRouter {
    /// A folder in which two events wait for `down` and none for `other`.
    fileprivate static func waiting() throws -> TestRouter {
        let router = try TestRouter(routes: routes())
        let run = try router.startRouter()
        run.send("{\"messageId\":\"a\"}\n{\"messageId\":\"b\"}\n")
        waitUntil("they wait") { (try! router.status()["lanes"] as! [[String: Any]])[0]["events"] as? Int == 2 }
        run.signal(SIGTERM)
        let result = run.finish()
        #expect(result.code == 0 && !result.errors.contains("switchyard spool"), "\(result.errors)")
        return router
    }

    /// Returns the arguments of the command that stands in the text before these words.
    fileprivate func command(in text: String, before words: String) throws -> [String] {
        let end = try #require(text.range(of: words))
        let start = try #require(text[..<end.lowerBound].range(of: "switchyard spool", options: .backwards))
        return text[start.lowerBound..<end.lowerBound].split(separator: " ").dropFirst().map(String.init)
    }
}

@Suite("Unused contents of the state folder")
struct LeftoverTests {
    @Test(
        "a queue without a provider is reported at the start, in the account, in the status and by check, with the command that moves it",
        arguments: [
            (routes(down: "renamed", to: "other"), "the configuration has no provider of this name"),
            (routes(queue: "", to: "other"), "the configuration does not keep its queue on disk (delivery.queue.disk)"),
        ])
    func orphaned(changed: String, reason: String) throws {
        let router = try TestRouter.waiting()
        try router.replace("routes.json", with: changed)
        let start = "\(router.path("state"))/spool-down.sqlite: 2 events wait for down since 20"
        let check = try router.command("check")
        let line = try #require(check.lines.first { $0.contains(start) })
        #expect(check.code == 0 && line.contains("Z, and \(reason); while no router has the folder, "))
        #expect(!(try router.run(["check"]).text.contains("State folder")))

        let run = try router.startRouter(["--stats", "json"])
        let spools = try #require(try router.status()["spools"] as? [NSDictionary])
        #expect(spools.count == 1 && spools[0]["provider"] as? String == "down" && spools[0]["events"] as? Int == 2)
        let result = run.finish()
        #expect(result.code == 0)
        #expect(result.errorLines.filter { $0.contains(start) } == ["switchyard: " + line.drop { $0 == " " }])
        let account = try #require(result.errorLines.last { $0.hasPrefix("{") })
        let counts = try #require(try JSONSerialization.jsonObject(with: Data(account.utf8)) as? NSDictionary)
        #expect((counts["spools"] as? [NSDictionary])?.map { $0["events"] as? Int } == [2])
        #expect(try router.run(["run", "--stats", "text"]).errors.contains("without a provider, down: 2 waiting on disk\n"))

        var words = try router.command(in: line, before: " gives them to another provider")
        #expect(words.last == "NEW")
        words[words.count - 1] = "other"
        #expect(try router.run(words).text == "2 events wait for other now\n")
        let last = try router.run(["run", "--stats", "json"])
        #expect(last.code == 0 && !last.errors.contains("spool-down") && last.errors.contains(#""spools":[]"#))
        #expect(router.lines("other.ndjson").count == 2)
        #expect(try router.command("check").text.hasSuffix("\nState folder\n  the configuration uses everything in it\n"))
    }

    @Test("the reported command destroys the queue, whatever the name of the provider is")
    func destroyed() throws {
        let router = try TestRouter.waiting()
        let name = "-it's down"
        rename(router.path("state/spool-down.sqlite"), router.path("state/spool--it%27s%20down.sqlite"))
        let line = try #require(try router.command("check").lines.first { $0.contains("spool--it") })
        let command = "switchyard spool --state \(router.path("state")) destroy -- '-it'\\''s down' destroys them"
        #expect(line.hasSuffix(command))
        #expect(try router.command("spool", "--yes", "destroy", "--", name).code == 64, "--state after -- is not an option")
        #expect(try router.run(["spool", "--state", router.path("state"), "--yes", "destroy", "--", name]).code == 0)
        #expect(try router.command("check").text.contains("the configuration uses everything in it"))
    }

    @Test("nothing is reported if another router has the folder or the folder does not exist")
    func others() throws {
        let router = try TestRouter.waiting()
        try router.replace("routes.json", with: passThrough)
        let environment = ["STATE_DIRECTORY": "", "XDG_STATE_HOME": router.folder]
        rename(router.path("state"), router.path("switchyard"))
        let alone = try router.run(environment: environment)
        #expect(alone.code == 0 && alone.errors.contains("2 events wait for down"), "a plan that stores nothing reports it too")
        try router.write(routes(), to: "first.json")
        let first = try router.start(["run", "-c", "first.json"], environment: environment)
        waitUntil("the control socket") { access(router.path("switchyard/control.sock"), F_OK) == 0 }
        #expect(try router.run(environment: environment).errors == "")
        first.signal(SIGTERM)
        #expect(first.finish().code == 0)
        #expect(
            try router.run(["check", "--state", router.path("none")]).text.hasSuffix("there is no folder \(router.path("none")) yet\n"))
    }

    @Test("held events and consent records are reported if no ledger is configured")
    func withoutALedger() throws {
        func routes(_ consent: String) -> String {
            """
            { "keys": { "ids": "0123456789abcdef0123456789abcdef" }, "consent": { \(consent)"levels": { "none": [], "all": ["a"] } },
              "providers": { "out": { "plugin": "console", "format": "ndjson" } }, "routes": [ { "consent": "all", "to": ["out"] } ] }
            """
        }
        let router = try TestRouter(routes: routes(#""ledger": "ids", "unknown": "hold", "#))
        #expect(try router.run(input: "{\"userId\":\"ann\"}\n{\"userId\":\"bob\"}\n").code == 0)
        #expect(try router.run(["consent", "set", "eve", "--level", "all", "--state", router.path("state")]).code == 0)
        #expect(!(try router.run().errors.contains("no ledger")))
        try router.replace("routes.json", with: routes(""))
        for errors in [try router.run().errors, try router.command("check").text] {
            #expect(errors.contains("held.sqlite: 2 events wait for consent since 20"), "\(errors)")
            #expect(errors.contains("ledger.sqlite: 1 id is on record, and the configuration has no consent.ledger"))
        }
    }

    @Test("check reports dead letters whose provider was removed")
    func letters() throws {
        let router = try TestRouter(
            routes: #"{ "providers": { "out": { "plugin": "file", "path": "/dev/full" } }, "routes": [ { "to": ["out"] } ] }"#)
        #expect(try router.run(["--drain", "1ms"], input: "{\"n\":1}\n").code == 69)
        #expect(try router.command("check").text.hasSuffix("the configuration uses everything in it\n"))
        try router.replace("routes.json", with: passThrough.replacingOccurrences(of: "\"out\"", with: "\"new\""))
        let text = try router.command("check").text
        #expect(text.contains("dead-letters.sqlite: 1 event for out, and the configuration has no provider of this name"), "\(text)")
        #expect(try router.command("dead-letters", "--provider", "out", "--events").text == "{\"n\":1}\n")
    }
}
