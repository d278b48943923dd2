import Testing

@testable import PluginKit

/// A provider that erases as its settings say.
private final class ErasingProbe: Provider, SubjectEraser {
    static let description: Description = {
        var description = Description(name: "erasing", version: "1", summary: "", settings: ["answer": .text("")])
        description.byHand = "Write to it."
        return description
    }()
    private let answer: String
    init(settings: Settings, host: Host) throws { answer = settings.get("answer") ?? "" }
    func deliver(_ batch: borrowing Batch) -> Outcome { .delivered }
    func erase(_ erasure: Erasure) -> Erasure.Answer {
        switch answer {
        case "confirmed": return .confirmed
        case "cannot": return .cannot("by hand")
        case "one": return Erasure.Answer(.mixed(rest: .retry("at work"), events: [(1, .delivered)]), state: Array("7".utf8))
        default:
            let subjects = erasure.subjects.map { "\($0.member)=\($0.id)" }.joined(separator: " ")
            let words = "\(subjects) \(erasure.stateText) \(erasure.attempt) \(erasure.begun) \(erasure.deadlineMilliseconds)"
            return .askAgain(words, afterMilliseconds: 9, state: "new")
        }
    }
}

@Suite("erasures through the C table that export makes")
struct ErasureExportTests {
    /// Erases with these subjects as JSON, and returns the end: the outcome, its message and pause, the subjects with their own outcome, and
    /// the state.
    private func erase(_ answer: String, _ subjects: String) -> [String] {
        final class Ends { var all: [String] = [] }
        let table = export(ErasingProbe.self)
        let host = CHost()
        let instance = table.create(host, "{\"answer\":\"\(answer)\"}").instance!
        let ends = Ends()
        var subjects = subjects
        var state = "old"
        subjects.withUTF8 { subjects in
            state.withUTF8 { state in
                var erasure = switchyard_erasure(
                    struct_size: UInt32(MemoryLayout<switchyard_erasure>.size), attempt: 3, token: 5, begun: 77, deadline_ms: 1000,
                    subjects: switchyard_bytes(data: subjects.baseAddress, size: subjects.count),
                    state: switchyard_bytes(data: state.baseAddress, size: state.count),
                    context: Unmanaged.passUnretained(ends).toOpaque(),
                    ended: { context, token, outcome, events, count, state in
                        let outcome = outcome!.pointee
                        let own = UnsafeBufferPointer(start: events, count: count).map { "\($0.index):\($0.outcome.kind)" }
                        Unmanaged<Ends>.fromOpaque(context!).takeUnretainedValue().all.append(
                            "\(token) \(outcome.kind) \(outcome.retry_after_ms) \(own) \(CHost.text(outcome.message)) / \(CHost.text(state))"
                        )
                    })
                table.pointee.erase_subjects(instance, &erasure)
            }
        }
        table.pointee.destroy(instance)
        return ends.all
    }

    private let two = #"[{"member":"userId","id":"u1"},{"member":"traits.email","id":"é"}]"#

    @Test("the provider gets the subjects, the state, the attempt, the begin and the deadline, and its new state goes back")
    func call() {
        #expect(erase("", two) == ["5 2 9 [] userId=u1 traits.email=é old 3 77 1000 / new"])
    }

    @Test("an answer without a state keeps the last one, and subjects have outcomes of their own")
    func answers() {
        #expect(erase("confirmed", two) == ["5 0 0 []  / old"])
        #expect(erase("cannot", two) == ["5 1 0 [] by hand / old"])
        #expect(erase("one", two) == [#"5 2 0 ["1:0"] at work / 7"#])
    }

    @Test("subjects that are not what the host promises are unknown", arguments: ["[]", "{}", "[1]", #"[{"member":"a"}]"#, "["])
    func broken(subjects: String) {
        #expect(erase("confirmed", subjects) == ["5 3 0 [] the subjects are not a JSON array of members and ids / old"])
    }

    @Test("conformance announces the capability, and the table of another provider has no entry")
    func announced() {
        let text = CHost.text(export(ErasingProbe.self).pointee.describe())
        #expect(text.contains(#""erase":true"#) && text.contains(#""by_hand":"Write to it.""#))
        #expect(export(ErasingProbe.self).pointee.erase == nil)
    }
}
