// Tests for the reports of invalid lines and for the file that keeps them.

import Events
import Foundation
import Platform
import Testing

@testable import Router
@testable import Workers

@Suite("The reports of invalid lines")
struct FaultLogTests {
    private let path = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path

    private final class Messages: Sendable {
        let lines = Monitor<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func say(_ line: String) { lines.withLock { $0.append(line) } }
    }

    /// Notes faults of a block whose lines are these texts. Every line is invalid.
    private func note(_ texts: [[UInt8]], _ log: FaultLog, lines: Int? = nil) {
        var block = Block()
        var faults: [LineFault] = []
        for (index, text) in texts.enumerated() {
            let start = block.text.count
            text.withUnsafeBytes { block.text.append(contentsOf: $0) }
            faults.append(LineFault(line: index + 1, column: 3, message: "bad \"x\"", text: start..<block.text.count))
            block.text.append(0x0a)
        }
        block.seal()
        log.note(faults, lines: lines ?? texts.count, in: block)
    }

    private func note(_ count: Int, _ log: FaultLog) { note(Array(repeating: Array("no".utf8), count: count), log) }

    @Test("name the first lines one by one, then each power of ten, and at the end the rest and the sum")
    func totals() {
        let said = Messages()
        let log = FaultLog(source: "in", showInput: false, rejects: nil, say: said.say)
        note(20, log)
        #expect(said.all == (1...20).map { "in:\($0):3: bad \"x\"" })
        note(79, log)
        #expect(said.all.count == 20)
        note(1, log)
        note(899, log)
        #expect(said.all.dropFirst(20) == ["in: 100 invalid lines so far"])
        note(9001, log)
        #expect(said.all.dropFirst(21) == ["in: 10,000 invalid lines so far"])
        log.sumUp()
        #expect(log.count == 10_000 && said.all.last == "in: and 9,980 more invalid lines, 10,000 in all")
    }

    @Test("say nothing at the end if each line was named")
    func few() {
        let said = Messages()
        let log = FaultLog(source: "in", showInput: false, rejects: nil, say: said.say)
        note(20, log)
        log.sumUp()
        #expect(said.all.count == 20)
    }

    @Test("count the lines of all blocks of the source, also of those without an invalid line")
    func numbers() {
        let said = Messages()
        let log = FaultLog(source: "in", showInput: false, rejects: nil, say: said.say)
        log.note([], lines: 1000, in: Block())
        note([Array("a".utf8)], log, lines: 5)
        note([Array("b".utf8)], log)
        #expect(said.all == ["in:1001:3: bad \"x\"", "in:1006:3: bad \"x\""])
    }

    @Test("quote a line only if that is wanted, with control characters as escapes, and only its beginning")
    func quotes() {
        let said = Messages()
        let log = FaultLog(source: "in", showInput: true, rejects: nil, say: said.say)
        note([[0x1b, 0x5b, 0x6d, 0xff], Array(repeating: 0x78, count: 200), Array(repeating: 0x78, count: 201), []], log)
        let x = String(repeating: "x", count: 200)
        let head = "3: bad \"x\""
        #expect(said.all == ["in:1:\(head): \\u001b[m\u{fffd}", "in:2:\(head): \(x)", "in:3:\(head): \(x)…", "in:4:\(head)"])
    }

    @Test("keep each line in the file as it came: as a text if it is one, else in base64, with its place and reason")
    func rejects() throws {
        let said = Messages()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let rejects = try Rejects(path: path)
        let log = FaultLog(source: "i\"n", showInput: false, rejects: rejects, say: said.say)
        log.note([], lines: 10, in: Block())
        note([Array("{\"a\":\t}".utf8), [0x7b, 0xff, 0x00], []], log)
        let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        let head = { (line: Int) in #"{"source":"i\"n","line":\#(line),"column":3,"reason":"bad \"x\"","# }
        #expect(
            text.split(separator: "\n").map(String.init) == [
                head(11) + #""input":"{\"a\":\t}"}"#, head(12) + #""input_base64":"e/8A"}"#, head(13) + #""input":""}"#,
            ])
        // After the file was moved away, the next lines go to a new one.
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        defer { try? FileManager.default.removeItem(atPath: path + ".1") }
        note(1, log)
        #expect(!FileManager.default.fileExists(atPath: path))
        rejects.reopen()
        note(1, log)
        #expect(FileManager.default.contents(atPath: path)?.count(where: { $0 == 0x0a }) == 1 && log.unkept == 0)
    }

    @Test("that cannot be kept are counted, and the reason is reported once")
    func unkept() throws {
        let said = Messages()
        let folder = path + "-folder"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let rejects = try Rejects(path: folder + "/rejects")
        let log = FaultLog(source: "in", showInput: false, rejects: rejects, say: said.say)
        try FileManager.default.removeItem(atPath: folder)
        rejects.reopen()
        note(20, log)
        note(5, log)
        #expect(log.unkept == 25)
        log.sumUp()
        #expect(
            said.all.dropFirst(20) == [
                "rejected lines cannot be kept in \(folder)/rejects: No such file or directory",
                "25 rejected lines could not be kept in \(folder)/rejects", "in: and 5 more invalid lines, 25 in all",
            ])
    }
}
