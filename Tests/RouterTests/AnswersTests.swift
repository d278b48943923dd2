import Ingest
import Platform
import Testing

@testable import Router
@testable import Workers

@Suite("The answers to the submissions of a block")
struct AnswersTests {
    @Test("name the faults of the submission's own lines, counted from its own first line")
    func own() {
        let told = Monitor([String]())
        func portion(_ name: String, lines: Int) -> Submissions.Portion {
            Submissions.Portion(lines: lines, since: Instant(nanoseconds: 0)) { submission in
                guard case .stored(let invalid) = submission else { return }
                told.withLock { $0 += invalid.map { "\(name) \($0.line) \($0.message)" } }
            }
        }
        let faults = [(2, 7), (3, 1), (6, 4)].map { LineFault(line: $0.0, column: $0.1, message: "bad", text: 0..<0) }
        Answers.make([portion("a", lines: 2), portion("b", lines: 3), portion("c", lines: 2)], faults)?()
        #expect(told.withLock { $0 } == ["a 1 bad, at byte 7", "b 0 bad, at byte 1", "c 0 bad, at byte 4"])
    }

    @Test("and the messages give the reasons that the submitter knows")
    func reasons() {
        let told = Monitor([String]())
        func portion(_ reasons: [Int: String], lines: Int) -> Submissions.Portion {
            Submissions.Portion(lines: lines, since: Instant(nanoseconds: 0), reasons: reasons) { submission in
                guard case .stored(let invalid) = submission else { return }
                told.withLock { $0 += invalid.map(\.message) }
            }
        }
        let portions = [portion([0: "first"], lines: 2), portion([:], lines: 1), portion([1: "second"], lines: 2)]
        let faults = [(1, 7), (2, 7), (3, 1), (5, 4)].map { LineFault(line: $0.0, column: $0.1, message: "bad", text: 3..<9) }
        Answers.make(portions, faults)?()
        #expect(told.withLock { $0 } == ["first", "bad, at byte 7", "bad, at byte 1", "second"])
        let explained = Answers.explained(faults, portions)
        #expect(explained.map(\.message) == ["first", "bad", "bad", "second"] && explained.map(\.column) == [1, 7, 1, 1])
        #expect(explained.map(\.line) == [1, 2, 3, 5] && explained.map(\.text.isEmpty) == [true, false, false, true])
    }
}
