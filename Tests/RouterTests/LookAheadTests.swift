import Admission
import ConsentGate
import Events
import Foundation
import Judging
import Plans
import Seeded
import Testing
import Workers

@testable import Router

@Suite("A worker that looks ahead")
struct LookAheadTests {
    /// The result of a line, or of all lines of a block.
    private struct Result: Equatable {
        var admitted: [String] = []
        /// The subjects of each admitted event, as the lane gets them.
        var subjects: [[SubjectKey]] = []
        var faults: [String] = []
        var duplicates = 0

        mutating func add(_ box: StreamFixture.WorkerBox, from line: Int = 0) {
            let parcels = box.worker.parcels
            admitted += box.admitted
            for entry in parcels[0].entries {
                subjects.append((0..<Int(entry.subjectCount)).map { parcels[0].subjects[Int(entry.firstSubject) + $0] })
            }
            faults += box.faults.map { "\(line + $0.line):\($0.column) \($0.message)" }
            duplicates += box.tally.duplicates
        }
    }

    private func lines(_ random: inout Seeded) -> [String] {
        func pick<T>(_ list: [T]) -> T { list.randomElement(using: &random)! }
        return (0..<Int.random(in: 1...12, using: &random)).map { number in
            let id = pick(["u", "v", "w", "\\u0075"])
            switch Int.random(in: 0..<12, using: &random) {
            case 0: return pick(["", " ", "{", #"{"event":"e""#, "[]", #"{"a":01}"#, #"{"event":"e"}}"#])
            case 1: return says(id, pick([grants, withdraws]))
            case 2: return event(id, "left\(number)", #","messageId":"\#(pick(["1", "2"]))""#)
            case 3: return event(id, "taken\(number)", #","messageId":"\#(pick(["1", "2"]))""#)
            case 4: return #"{"event":"taken\#(number)"}"#
            case 5: return event(id, "taken\(number)") + "\r"
            case 6: return event(id, "taken\(number)", #","pad":"\#(String(repeating: "x", count: 5000))""#)
            case 7: return event(id, "left\(number)")
            default: return event(id, "taken\(number)", #","anonymousId":"\#(pick(["u", "a", "b"]))""#)
            }
        }
    }

    @Test("judges the lines of a block as if each line came in a block of its own")
    func sameAsAlone() throws {
        var random = Seeded(state: 7)
        func fixture() throws -> StreamFixture {
            let fixture = try StreamFixture(
                streamPlan { plan in
                    plan.routes[0].events = [Glob("taken*")]
                    plan.messageID.deduplicate = MessageIDPlan.Deduplication()
                },
                lineLimit: 4000)
            try fixture.ledger.set("v", ConsentTerms(level: "standard"))
            try fixture.ledger.set("a", ConsentTerms(level: "essential"))
            return fixture
        }
        var seen = Result()
        for _ in 0..<60 {
            let (together, alone) = (try fixture(), try fixture())
            let lines = lines(&random)
            var (expected, found) = (Result(), Result())
            for (number, line) in lines.enumerated() {
                let box = alone.block([line])
                alone.turn(box)
                expected.add(box, from: number)
            }
            let box = together.block(lines)
            together.turn(box)
            found.add(box)
            #expect(found == expected, "\(lines.joined(separator: "\n"))")
            seen.admitted += found.admitted
            seen.faults += found.faults
            seen.duplicates += found.duplicates
        }
        #expect(seen.admitted.count > 20 && seen.faults.count > 20 && seen.duplicates > 5, "the random lines cover all cases often enough")
    }
}
