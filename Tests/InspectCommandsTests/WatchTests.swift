// `switchyard test --watch`: when the tests run again, what is said, and how it ends. The changes are given, or made before they are waited for.

import Foundation
import Platform
import Testing

@testable import InspectCommands
@testable import Terminal

/// Gives changes from a list, and then tells to end.
private final class Script: ChangeSource {
    var changes: [[String]]
    var noted: [String] = []
    /// What was noted at each wait.
    var seen: [[String]] = []

    init(_ changes: [[String]]) { self.changes = changes }
    var count: Int { noted.count }
    func begin() { noted = [] }
    @discardableResult func note(_ path: String) -> SystemFault? {
        noted.append(path)
        return nil
    }
    func next() throws(SystemFault) -> [String]? {
        seen.append(noted)
        return changes.isEmpty ? nil : changes.removeFirst()
    }
}

@Suite("Watched tests") struct WatchTests {
    @Test("run again after each change, and end with the code of the last run")
    func rounds() throws {
        let script = Script([["routes.json"], ["a", "b"]])
        var (codes, said): ([Int32], [String]) = ([0, 1, 1], [])
        let code = try Watching.run(
            script, say: { said.append($0) },
            round: {
                script.note("routes.json")
                if codes.count == 1 { script.note("plan.json") }
                return codes.removeFirst()
            })
        #expect(code == 1 && codes.isEmpty)
        #expect(script.seen == [["routes.json"], ["routes.json"], ["routes.json", "plan.json"]])
        #expect(
            said == [
                "waiting for a change of 1 file; Ctrl-C ends", "routes.json changed", "waiting for a change of 1 file; Ctrl-C ends",
                "a, b changed", "waiting for a change of 2 files; Ctrl-C ends",
            ])
    }

    @Test("go on after a file that is wrong, and end with its code if it is not mended")
    func faults() throws {
        for (mended, expected) in [(true, ExitCode.delivered), (false, ExitCode.configuration)] {
            let script = Script([["routes.json"]])
            var (round, said) = (0, [String]())
            let code = try Watching.run(
                script, say: { said.append($0) },
                round: {
                    round += 1
                    if round == 1 || !mended { throw ConfigurationFailure(lines: ["routes.json:1:1: wrong"]) }
                    return 0
                })
            #expect(code == expected && said.first == "routes.json:1:1: wrong")
        }
        let script = Script([["a"]])
        #expect(try Watching.run(script, say: { _ in }, round: { throw StateFailure("cannot be written") }) == ExitCode.undelivered)
        // Nobody reads what is shown.
        #expect(throws: SystemFault.self) { try Watching.run(script, say: { _ in }, round: { throw SystemFault(code: EPIPE) }) }
    }
}
