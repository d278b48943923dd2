// `switchyard consent report`, of a folder that no process uses and of a running router.

import Foundation
import Testing

@Suite("The report of consent")
struct ConsentReportTests {
    private func routes(_ ledger: String = #", "ledger": "ids""#) -> String {
        """
        { "keys": { "ids": "0123456789abcdef0123456789abcdef" },
          "consent": { "levels": { "none": [], "standard": ["analytics"] }, "default": "standard"\(ledger) },
          "providers": { "out": { "plugin": "console", "format": "ndjson" } },
          "routes": [ { "name": "=all", "transform": [ { "drop": ["context.ip"] } ], "to": ["out"] } ] }
        """
    }

    private func report(_ router: TestRouter, _ words: String...) throws -> Result {
        try router.run(["consent", "report", "--state", router.path("state")] + words)
    }

    @Test("is the same at rest and beside a running router, and names the withdrawal that the ledger has")
    func both() throws {
        let router = try TestRouter(routes: routes())
        for words in [["set", "u1", "--level", "standard"], ["withdraw", "u2"]] {
            #expect(try router.run(["consent"] + words + ["--state", router.path("state")]).code == 0)
        }
        // The router finishes the receipt.
        let run = try router.startRouter()
        try waitUntil("the receipt is finished") { try report(router).text.contains("Not finished: 0.") }
        let running = try report(router, "--format", "csv")
        #expect(run.finish().code == 0)
        let resting = try report(router, "--format", "csv")
        func lines(_ result: Result) -> [Substring] { result.text.split(separator: "\r\n").filter { !$0.contains("Made by") } }
        #expect(running.code == 0 && resting.code == 0)
        #expect(lines(running) == lines(resting))
        #expect(running.text.contains(#""withdrawals","Finished","1","What","everything""#))
        #expect(running.text.contains(#""consent","Now","everything withdrawn","Ids","1""#))
        #expect(running.text.contains(#""routes","","'=all","Level","standard""#))
        #expect(!running.text.contains("u1") && !running.text.contains("u2"))
    }

    @Test("has only the sections of the configuration if no ledger is kept")
    func withoutLedger() throws {
        let router = try TestRouter(routes: routes(""))
        let result = try report(router, "--format", "html")
        #expect(result.code == 0)
        #expect(result.text.contains("No ledger is kept") && result.text.contains("<b") && !result.text.contains("id=\"withdrawals\""))
    }

    @Test("names its formats if it is asked for another one")
    func format() throws {
        for ledger in ["", #", "ledger": "ids""#] {
            let router = try TestRouter(routes: routes(ledger))
            if !ledger.isEmpty {
                #expect(try router.run(["consent", "set", "u", "--level", "standard", "--state", router.path("state")]).code == 0)
            }
            let result = try report(router, "--format", "pdf")
            #expect(result.code == 64 && result.errors.contains("format must be text, csv or html"))
        }
    }
}
