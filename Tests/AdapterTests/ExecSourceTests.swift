// The source `exec` with real programs, and a host of closures.

import Foundation
import Glibc
import PluginKit
import TestSupport
import Testing

@testable import Exec

@Suite("The source exec", .timeLimit(.minutes(10)))
struct ExecSourceTests {
    private final class Router: Sendable {
        struct State: Sendable {
            var lines: [String] = []
            var numbers: [Int64] = []
            var tokens: [UInt64] = []
            var verdict = Handover.taken
            var refusals = 0
            var states: [String] = []
            var log: [String] = []
            var ended: String?
        }
        let state = Monitor(State())

        var host: SourceHost {
            SourceHost(
                mostLine: 100,
                log: { _, line in self.state.withLock { $0.log.append(line) } },
                submit: { block in
                    let verdict = self.state.withLock { state in
                        if state.verdict == .full { state.refusals += 1 }
                        guard state.verdict == .taken else { return state.verdict }
                        state.lines += block.bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
                        state.numbers += block.numbers
                        state.tokens.append(block.token)
                        return .taken
                    }
                    self.state.wake()
                    return verdict
                },
                state: { _, words in
                    self.state.withLock { $0.states.append(words) }
                    self.state.wake()
                },
                ended: { words in
                    self.state.withLock { $0.ended = words }
                    self.state.wake()
                })
        }

        func wait(_ condition: @Sendable (State) -> Bool) { state.wait(while: { !condition($0) }) }
        var now: State { state.withLock { $0 } }
    }

    private let router = Router()

    private func source(_ script: String) throws -> ExecSource {
        let command = String(decoding: try JSONSerialization.data(withJSONObject: ["sh", "-c", script]), as: UTF8.self)
        return try ExecSource(
            settings: Settings(json: "{\"command\":\(command)}"), host: router.host,
            timeouts: Program.Timeouts(afterInput: .seconds(60), afterTerminate: .seconds(60)))
    }

    @Test("hands over the lines of a program with their numbers, and reports its end")
    func lines() throws {
        let source = try source(#"echo '{"n":1}'; echo; echo '{"n":3}'; printf '{"n":4}'"#)
        source.start()
        router.wait { $0.ended != nil }
        #expect(router.now.lines == ["{\"n\":1}", "{\"n\":3}", "{\"n\":4}"] && router.now.numbers == [1, 3, 4])
        #expect(router.now.ended == "the program sh ended with code 0")
        source.stop(withinMilliseconds: 60_000)
        source.close()
    }

    @Test("a line that is longer than any event is cut after one byte more, and the next lines are whole")
    func long() throws {
        let source = try source(#"yes x | head -n 300 | tr -d '\n'; echo; echo '{"n":2}'"#)
        source.start()
        router.wait { $0.ended != nil }
        #expect(router.now.lines.first.map { (101...).contains($0.utf8.count) } == true && router.now.lines.last == "{\"n\":2}")
        #expect(router.now.numbers == [1, 2])
        source.close()
    }

    @Test("the program reads the last number up to which all lines are safe, in whatever order the blocks end")
    func front() {
        var front = SafeFront()
        for (token, last) in [(1, 10), (2, 25), (3, 30)] as [(UInt64, Int64)] { #expect(front.add(token, last: last) == nil) }
        #expect(front.end(2) == nil && front.end(9) == nil, "the block before it is open; another program's block changes nothing")
        #expect(front.end(1) == 25)
        #expect(front.add(nil, last: 31) == nil, "blank lines wait for the lines before them")
        #expect(front.end(3) == 31)
        #expect(front.add(nil, last: 40) == 40)
    }

    @Test("the program gets numbers on its standard input, and then the end of it")
    func numbers() throws {
        let folder = try FileManager.default.url(
            for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: URL(filePath: "/tmp"), create: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "numbers").path
        let source = try source("echo '{}'; echo '{}'; exec cat >'\(path)'")
        source.start()
        router.wait { $0.lines.count == 2 }
        source.acknowledge(router.now.tokens)
        source.stop(withinMilliseconds: 60_000)
        source.close()
        #expect(try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").last == "2")
    }

    @Test("a block that has no room is handed over again after resume, and the program waits meanwhile")
    func full() throws {
        let source = try source("echo '{\"n\":1}'; echo '{\"n\":2}'")
        router.state.withLock { $0.verdict = .full }
        source.start()
        router.wait { $0.refusals == 1 }
        router.state.withLock { $0.verdict = .taken }
        source.resume()
        router.wait { $0.ended != nil }
        #expect(router.now.lines == ["{\"n\":1}", "{\"n\":2}"] && router.now.refusals == 1)
        source.close()
    }

    @Test("a program that fails is started again after a pause, which a stop ends; an unfinished line is left out")
    func fails() throws {
        let source = try source("echo '{}'; printf torn; exit 3")
        source.start()
        router.wait { $0.states.filter { $0.contains("is started again") }.count == 2 }
        source.stop(withinMilliseconds: 60_000)
        source.close()
        #expect(Set(router.now.lines) == ["{}"] && router.now.numbers.allSatisfy { $0 == 1 })
        #expect(router.now.states[1] == "the program sh ended with code 3; it is started again in 250 ms")
        #expect(Set(router.now.tokens).count == router.now.tokens.count, "no token comes twice")
    }

    @Test("settings without a program, or with one that is not there, are refused")
    func settings() {
        for (settings, words) in [
            (#"{"command":[]}"#, "'command' must name a program"),
            (#"{"command":["no-such-program"]}"#, "the program no-such-program cannot be started: No such file or directory"),
        ] {
            do {
                _ = try ExecSource(settings: Settings(json: settings), host: router.host)
                Issue.record("it was made")
            } catch {
                #expect("\(error)" == words)
            }
        }
    }

    @Test("its table is the one of the interface, with its own description")
    func exported() {
        let table = export(source: ExecSource.self).pointee
        #expect(table.abi_version == SWITCHYARD_SOURCE_ABI_VERSION && table.probe == nil)
        let text = table.describe()
        #expect(
            String(decoding: UnsafeBufferPointer(start: text.data, count: text.size), as: UTF8.self) == ExecSource.sourceDescription.json)
    }
}
