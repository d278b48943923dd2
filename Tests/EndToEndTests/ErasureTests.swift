// Erasures at providers by the real executable and a module in C that erases as its settings say.

import Foundation
import Glibc
import TestSupport
import Testing

private func routes(_ word: String) -> String {
    """
    { "sources": { "in": { "plugin": "stdin", "consent": "write" } },
      "keys": { "ids": "0123456789abcdef0123456789abcdef", "hashing": "fedcba9876543210" },
      "consent": { "ledger": "ids", "erasures": { "wait": "0s", "first": "1ms" },
                   "levels": { "none": [], "all": ["analytics"] } },
      "providers": { "vendor": { "plugin": "erases", "do": "\(word)" } },
      "routes": [ { "consent": "all", "transform": [ { "hash": { "fields": ["anonymousId"], "key": "hashing" } } ], "to": ["vendor"] } ] }
    """
}

@Suite("An erasure")
struct ErasureTests {
    private let router: TestRouter

    init() throws { router = try TestRouter(routes: "{}") }

    private func start(_ word: String, _ options: [String] = []) throws -> Run {
        try router.compile("erases", options)
        try Data(routes(word).utf8).write(to: URL(fileURLWithPath: router.path("routes.json")))
        return try router.startRouter(["--drain", "0s"], environment: router.moduleFolder)
    }

    private func consent(_ words: String...) throws -> Result {
        try router.run(["consent"] + words + ["--state", router.path("state")], environment: router.moduleFolder)
    }

    private func jobs() throws -> [NSDictionary] {
        try JSONSerialization.jsonObject(with: consent("erasures", "--all", "--json").output) as! [NSDictionary]
    }

    private func phase() throws -> String? { try jobs().first?["phase"] as? String }

    @Test("asks the provider behind the withdrawal, is shown with its receipt, and leaves no id in the state folder")
    func confirms() throws {
        let run = try start("thread")
        let result = try consent("erase", "person-seven")
        #expect(result.code == 0)
        #expect(
            result.text == """
                the id is withdrawn
                will be asked to erase: vendor
                erasure 1; switchyard consent erasures shows what becomes of them

                """)
        try waitUntil("the provider has confirmed") { try phase() == "confirmed" }
        let receipts = try consent("receipts").text
        #expect(receipts.contains("everything withdrawn") && receipts.contains("  erasure 1 at vendor: confirmed"))
        #expect(try consent("erasures").text == "no erasure is open\n")
        #expect(try consent("get", "person-seven").text.contains("everything is withdrawn"))
        #expect(try router.status()["erasures"] is NSDictionary)
        #expect(Remains(folder: router.path("state")).holding("person-seven") == [])
        _ = run.finish()
    }

    @Test("that no router could ask is asked by the next one, and is asked again by the one after a kill, with its state")
    func killed() throws {
        var run = try start("plain")
        run.end(by: SIGKILL)
        #expect(try consent("withdraw", "person-seven", "--erase").code == 0)
        #expect(try phase() == "waiting")
        run = try start("plain")
        try waitUntil("the provider is at work") { try phase() == "asked" }
        #expect(Remains(folder: router.path("state")).holding("person-seven") == [])
        run.end(by: SIGKILL)
        run = try start("thread")
        try waitUntil("the provider has confirmed") { try phase() == "confirmed" }
        _ = run.finish()
    }

    @Test("asks for the id as the route passes it on: in one member as it is, in the other hashed")
    func forms() throws {
        let run = try start("plain")
        #expect(try consent("erase", "person-seven").code == 0)
        let shown = try consent("erasures", "--ids", "1").text
        #expect(shown.contains("userId person-seven: open"))
        #expect(shown.split(separator: "\n").contains { $0.contains("anonymousId ") && !$0.contains("person-seven") })
        try waitUntil("the provider has answered") { try phase() == "asked" }
        // The module repeats what it was given.
        #expect(try consent("erasures").text.contains(#""member":"userId","id":"[…]""#))
        _ = run.finish()
    }

    @Test("by a module that cannot says what a person must do, with the ids, until the person has done it")
    func byHand() throws {
        let run = try start("plain", ["-DOLD"])
        #expect(try consent("erase", "person-seven").code == 0)
        try waitUntil("a person is needed") { try phase() == "by_hand" }
        #expect(try consent("erasures").text.contains("by hand: Write to privacy@erases.example."))
        #expect(try consent("erasures", "--ids", "1").text.contains("person-seven"))
        #expect(try consent("erasures", "--done", "1").code == 0)
        #expect(try phase() == "done")
        #expect(try consent("erasures", "--done", "1").code == 65)
        #expect(try consent("erasures", "--again", "9").text.isEmpty)
        _ = run.finish()
    }

    @Test("concerns a provider that was in an earlier configuration, until a person says that nothing is left there")
    func gone() throws {
        try router.compile("erases", [])
        func write(_ others: [String]) throws {
            let more = others.map { #", "\#($0)": { "plugin": "noop" }"# }.joined()
            let text = routes("thread").replacingOccurrences(of: #""do": "thread" }"#, with: #""do": "thread" }"# + more)
                .replacingOccurrences(of: #""to": ["vendor"]"#, with: #""to": ["vendor""# + others.map { #", "\#($0)""# }.joined() + "]")
            try Data(text.utf8).write(to: URL(fileURLWithPath: router.path("routes.json")))
        }
        func providers() throws -> [String] {
            let all = try JSONSerialization.jsonObject(with: consent("erasures", "--providers", "--json").output) as! [NSDictionary]
            return all.map { "\($0["provider"]!)\($0["configured"] as? Bool == true ? "" : ", gone")" }
        }
        try write(["old"])
        var run = try router.startRouter(["--drain", "0s"], environment: router.moduleFolder)
        #expect(try providers() == ["old", "vendor"])
        run.end(by: SIGKILL)
        try write([])
        run = try router.startRouter(["--drain", "0s"], environment: router.moduleFolder)
        #expect(try consent("erasures", "--providers").text.contains(", not in the configuration any more\n"))
        let erased = try consent("erase", "person-seven").text
        #expect(erased.contains("erasure 2 at old: to be done by hand") && erased.contains("it may have got events"))
        #expect(try consent("erasures", "--forget", "vendor").code == 65)
        #expect(try consent("erasures", "--forget", "old").text == "old is forgotten: later erasures do not concern it\n")
        #expect(try consent("erasures", "--forget", "old").code == 65)
        #expect(try providers() == ["vendor"])
        try write(["later"])
        #expect(try router.command("reload").code == 0)
        #expect(try providers() == ["later", "vendor"])
        _ = run.finish()
    }

    @Test("keeps a provider on record while its lane still has events that came before a reload")
    func draining() throws {
        func write(_ providers: String, _ to: String) throws {
            let text = #"""
                { "sources": { "in": { "plugin": "stdin" } }, "keys": { "ids": "0123456789abcdef0123456789abcdef" },
                  "consent": { "ledger": "ids", "levels": { "none": [], "all": ["analytics"] } },
                  "shutdown": { "deadline": "600s" }, "providers": { "new": { "plugin": "noop" }\#(providers) },
                  "routes": [ { "consent": "none", "to": ["new"\#(to)] } ] }
                """#
            try Data(text.utf8).write(to: URL(fileURLWithPath: router.path("routes.json")))
        }
        try write(#", "old": { "plugin": "exec", "command": ["sleep", "600"] }"#, #", "old""#)
        let run = try router.startRouter()
        run.send("{}\n")
        try waitUntil("the lane has the event") {
            let lanes = try router.status()["lanes"] as? [NSDictionary] ?? []
            return lanes.contains { $0["provider"] as? String == "old" && $0["events"] as? Int == 1 }
        }
        try write("", "")
        #expect(try router.command("reload").code == 0)
        let refused = try consent("erasures", "--forget", "old")
        #expect(refused.code == 65 && refused.errors.contains("old still has a queue or dead letters"))
        run.end(by: SIGKILL)
    }

    @Test("that an event asks for begins behind its withdrawal, and the event is acknowledged when the job is on disk")
    func event() throws {
        let run = try start("thread")
        run.send(#"{"type":"consent","userId":"person-seven","consent":{"erase":true}}"# + "\n")
        try waitUntil("the provider has confirmed") { try phase() == "confirmed" }
        #expect(try jobs()[0]["origin"] as? String == "source in")
        _ = run.finish()
    }

    @Test("of purposes alone is refused, and nothing is withdrawn by it")
    func purposes() throws {
        let run = try start("plain")
        #expect(try consent("withdraw", "u1", "--erase", "--purposes", "analytics").code == 64)
        #expect(try consent("get", "u1").text == "nothing is on record\n")
        _ = run.finish()
    }
}
