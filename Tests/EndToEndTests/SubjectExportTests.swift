// `switchyard consent subject ID --export FOLDER` writes what the router holds about a person to files.

import Foundation
import Glibc
import Testing

private let routes = """
    { "sources": { "in": { "plugin": "stdin", "consent": "write" } },
      "keys": { "ids": "0123456789abcdef0123456789abcdef", "disk": "fedcba9876543210fedcba9876543210",
                "proof": "00112233445566778899aabbccddeeff", "log": "a literal audit secret of enough bytes" },
      "state": { "encrypt": "disk" }, "audit": { "key": "log", "origin": "example.com/log" },
      "consent": { "ledger": "ids", "evidence": "proof", "levels": { "none": [], "all": ["analytics"] }, "unknown": { "assume": "all" },
                   "default": "all", "erasures": { "wait": "1h" } },
      "providers": {
        "far": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "disk": "100MB" } } },
        "near": { "plugin": "http", "url": "http://127.0.0.1:9" },
        "lost": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "retry": { "first": "1ms", "most": "2ms", "for": "5ms" } } } },
      "routes": [ { "name": "all", "to": ["far", "near", "lost"] } ] }
    """

@Suite("A copy of a person's data")
struct SubjectExportTests {
    private let router: TestRouter

    init() throws { router = try TestRouter(routes: routes) }

    private func consent(_ words: String...) throws -> Result {
        try router.run(["consent"] + words + ["--state", router.path("state")])
    }

    private func names(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: router.path(folder)).sorted()) ?? []
    }

    private func accesses() throws -> Int {
        try router.run(["audit", "list", "--state", router.path("state")]).lines.count { $0.contains(#""what":"consent subject""#) }
    }

    @Test("has the lines of consent subject, an index and the providers, beside the router and after a kill")
    func whole() throws {
        let id = "../../ann of the test"
        let run = try router.startRouter()
        run.send(#"{"type":"consent","userId":"\#(id)","consent":{"level":"all","ipAddress":"192.0.2.7"}}"# + "\n")
        for user in [id, "bob of the test", id] { run.send(#"{"userId":"\#(user)","event":"seen"}"# + "\n") }
        try waitUntil("they are stored and given up") {
            try router.run(["dead-letters", "--events", "--state", router.path("state")]).lines.count == 3
        }
        func check(_ folder: String, _ files: [String]) throws {
            let printed = try consent("subject", id)
            let result = try consent("subject", id, "--export", router.path(folder))
            #expect(result.code == 0 && result.text == "" && result.errors.contains("index.txt says what they are"), "\(result.errors)")
            #expect(names(folder) == (files + ["index.txt", "providers.ndjson"]).sorted())
            #expect(router.mode(folder) == 0o700 && names(folder).allSatisfy { router.mode("\(folder)/\($0)") == 0o600 })
            let lines = files.flatMap { router.lines("\(folder)/\($0)") }
            #expect(lines.sorted() == printed.lines.sorted())
            #expect(router.read("\(folder)/consent.ndjson").contains("192.0.2.7"), "the evidence is part of it")
            let providers = try router.lines("\(folder)/providers.ndjson").map {
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as! NSDictionary
            }
            #expect(providers.compactMap { $0["provider"] as? String } == ["far", "near", "lost"])
            let index = router.read("\(folder)/index.txt")
            #expect(index.contains("../../ann of the test") && index.contains("given up        2 events"))
            for name in names(folder) { #expect(!router.read("\(folder)/\(name)").contains("bob"), "\(name) is about another person") }
        }
        // The folders are so deep that a file named by the identifier would still be in the folder of the test.
        let folders = "copies/today"
        try FileManager.default.createDirectory(atPath: router.path(folders), withIntermediateDirectories: true)
        try check("\(folders)/copy", ["consent.ndjson", "dead-letters.ndjson", "waiting-events.ndjson"])
        #expect(router.read("\(folders)/copy/index.txt").contains("waiting for it  2 events"))
        run.end(by: SIGKILL)
        try check("\(folders)/again", ["consent.ndjson", "dead-letters.ndjson", "waiting-events.ndjson"])
        #expect(try accesses() == 4)
        // Two accesses came over the control socket, and two came from commands that had the folder themselves.
        let looked = try router.run(["audit", "list", "--state", router.path("state")]).lines.filter { $0.contains(#""kind":"access""#) }
        #expect(looked.count >= 4 && looked.allSatisfy { $0.contains(#""uid":\#(getuid())"#) }, "\(looked)")
        // Nothing was written beside the folders.
        #expect(names("copies") == ["today"] && names(folders) == ["again", "copy"])

        #expect(try consent("erase", id).code == 0)
        #expect(try consent("subject", id, "--export", router.path("after")).code == 0)
        #expect(router.read("after/withdrawals.ndjson").contains(#""erasures":[{"#))
        #expect(router.read("after/index.txt").contains("erasure 1 at far: not asked yet"))
    }

    @Test("is refused into a folder with something in it, and shows and notes nothing then")
    func refused() throws {
        #expect(try consent("set", "ann", "--level", "all").code == 0)
        let before = try accesses()
        try FileManager.default.createDirectory(atPath: router.path("full"), withIntermediateDirectories: false)
        try router.write("mine", to: "full/index.txt")
        let result = try consent("subject", "ann", "--export", router.path("full"))
        #expect(result.code == 64 && result.errors.contains("is not empty"))
        #expect(router.read("full/index.txt") == "mine" && names("full") == ["index.txt"])
        #expect(try consent("subject", "ann", "--export", router.path("state/copy")).code == 64)
        #expect(try consent("get", "ann", "--export", router.path("copy")).errors.contains("consent get takes no --export"))
        #expect(try accesses() == before)
    }

    @Test("leaves nothing behind if a file of the state folder cannot be read")
    func failed() throws {
        #expect(try consent("set", "ann", "--level", "all").code == 0)
        try router.write(String(repeating: "no database", count: 1000), to: "state/dead-letters.sqlite")
        let result = try consent("subject", "ann", "--export", router.path("copy"))
        #expect(result.code == 69 && result.errors.contains("dead-letters.sqlite"), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: router.path("copy")))
    }
}
