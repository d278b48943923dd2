// What a router does for its next start, and what it keeps in memory when it has started.

import Foundation
import Glibc
import Testing

@Suite("A router that has started", .timeLimit(.minutes(20)))
struct StartTests {
    private func listening(_ plugin: String) -> String {
        #"{"sources":{"in":{"plugin":"http","listen":"127.0.0.1:0"}},"providers":{"out":{"plugin":"\#(plugin)"}},"routes":[{"to":["out"]}]}"#
    }

    /// Waits until the condition holds. Returns false if it does not hold for long.
    private func wait(_ condition: () -> Bool) -> Bool {
        for _ in 0..<20_000 {
            if condition() { return true }
            usleep(1000)
        }
        return false
    }

    @Test("does not ask a module for its description that it has asked at the last start")
    func descriptions() throws {
        let router = try TestRouter(routes: listening("table"))
        // The module writes a line each time a process loads it.
        let code = "{ FILE *f = fopen(\"\(router.path("notes"))\", \"a\"); fputs(\"loaded\\n\", f); fclose(f); }"
        try router.compile("unruly", ["-DIN_CONSTRUCTOR=\(code)"])
        rename(router.path("modules/unruly.so"), router.path("modules/table.so"))
        // The first start loads it in the process that describes it, and in the router.
        for loads in [2, 3, 4] {
            let started = try ListeningRouter(router, environment: router.moduleFolder)
            #expect(wait { FileManager.default.fileExists(atPath: router.path("state/module-descriptions")) })
            #expect(router.mode("state/module-descriptions") == 0o600)
            started.run.end(by: SIGTERM)
            #expect(router.lines("notes").count == loads)
        }
    }

    @Test("gives back the memory that only its start needed", .disabled(if: Sanitizer.isOn))
    func memory() throws {
        let started = try ListeningRouter(TestRouter(routes: listening("noop")))
        defer { started.run.end(by: SIGTERM) }
        let process = started.run.process.processIdentifier
        // The dynamic linker has read the tables of every library, and nobody reads those of this one later.
        #expect(wait { resident(of: "libstdc++.so", in: process) == 0 }, "kilobytes: \(resident(of: "libstdc++.so", in: process))")
        #expect(try started.send("{}").status == 200)
    }

    /// The kilobytes in memory of the first mapping of a library.
    private func resident(of library: String, in process: Int32) -> Int {
        let maps = try? FileHandle(forReadingAtPath: "/proc/\(process)/smaps")?.readToEnd()
        let lines = String(decoding: maps ?? Data(), as: UTF8.self).split(separator: "\n")
        guard let start = lines.firstIndex(where: { $0.contains(library) && $0.contains(" r--p 00000000 ") }) else { return -1 }
        return lines[start...].first { $0.hasPrefix("Rss:") }.flatMap { Int($0.filter(\.isNumber)) } ?? -1
    }
}
