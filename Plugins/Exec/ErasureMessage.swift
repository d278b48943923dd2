// The message by which a program is asked to erase subjects, and what its answer means. The message is a list, so no event can look like it:
//
//     ["erase", {"subjects": [{"member": "userId", "id": "u1"}], "state": "", "attempt": 1, "begun": "2026-11-26T10:00:00Z"}]
//
// The answer is one line, and it is not of the form in which events are answered, so a program that takes the message for an event confirms
// nothing:
//
//     {"erase": "confirmed", "subjects": [{"member": "userId", "id": "u1", "erase": "by_hand", "message": "..."}]}

internal import PluginKit

struct ErasureMessage {
    private let erasure: Erasure

    init(_ erasure: Erasure) { self.erasure = erasure }

    /// The message with its newline.
    var line: [UInt8] {
        let subjects = erasure.subjects.map { "{\"member\":\(jsonQuoted($0.member)),\"id\":\(jsonQuoted($0.id))}" }
        let rest =
            "\"state\":\(jsonQuoted(erasure.stateText)),\"attempt\":\(erasure.attempt),\"begun\":\(jsonQuoted(timestamp(erasure.begun)))"
        return Array("[\"erase\",{\"subjects\":[\(subjects.joined(separator: ","))],\(rest)}]\n".utf8)
    }

    /// The longest answer: it may name each subject, with a message.
    var mostAnswer: Int { Answer.most + 8 * line.count + 1024 * erasure.subjects.count }

    /// Reads the answer. Returns nil if it is invalid: then it does not count, and nothing is erased because of it.
    func answer(_ line: UnsafeRawBufferPointer) -> Erasure.Answer? {
        // The program has taken the message for an event.
        if Answer(line) != nil { return .cannot(ErasureMessage.unknown) }
        guard line.count <= mostAnswer, let text = String(validating: line, as: UTF8.self), let members = try? Settings(json: text),
            let rest = Said(members, among: ["erase", "code", "message", "retry_after_ms", "state", "subjects"], ofAll: true)
        else { return nil }
        let state: String? = members.get("state")
        if members.names.contains("state"), state == nil { return nil }
        if let state, state.utf8.count > Erasure.mostState { return nil }
        guard let own = own(members) else { return nil }
        return Erasure.Answer(own.isEmpty ? rest.outcome : .mixed(rest: rest.outcome, events: own), state: state.map { Array($0.utf8) })
    }

    /// Returns the outcomes of the subjects that the answer names. Returns nil if it names one that was not asked about, or one twice.
    private func own(_ members: Settings) -> [(index: Int, outcome: Outcome)]? {
        guard members.names.contains("subjects") else { return [] }
        guard let list = members.get("subjects", as: [Settings].self) else { return nil }
        var outcomes: [Int: Outcome] = [:]
        for item in list {
            guard let member: String = item.get("member"), let id: String = item.get("id"),
                let index = erasure.subjects.firstIndex(of: Erasure.Subject(member: member, id: id)), outcomes[index] == nil,
                let said = Said(item, among: ["member", "id", "erase", "code", "message"], ofAll: false)
            else { return nil }
            outcomes[index] = said.outcome
        }
        return outcomes.sorted { $0.key < $1.key }.map { (index: $0.key, outcome: $0.value) }
    }

    /// What becomes of the job of a program that does not know the message.
    static let unknown =
        "the program took the request for an event, so it does not know how to erase; erase the ids by hand where it stores events, and remove "
        + "what it has made of the request"

    /// What an answer says of all subjects, or of one.
    private struct Said {
        let outcome: Outcome

        /// `names` are all members that the object may have. Only what is said of all subjects may be a fault, or name a pause.
        init?(_ members: Settings, among names: [String], ofAll: Bool) {
            guard members.names.allSatisfy(names.contains), let word = members.get("erase", as: String.self) else { return nil }
            let code = members.get("code", as: Int.self)
            let message = members.get("message", as: String.self)
            let after = members.get("retry_after_ms", as: Int.self)
            for (name, isRead) in [("code", code != nil), ("message", message != nil), ("retry_after_ms", after != nil)] {
                if members.names.contains(name), !isRead { return nil }
            }
            if let after, after < 0 || word != "again" { return nil }
            switch word {
            case "confirmed": outcome = .delivered
            case "again":
                outcome = .retry(code: code ?? 0, message ?? "the program is at work", afterMilliseconds: after.map { UInt64($0) })
            case "by_hand":
                outcome = .rejected(code: code ?? 0, message ?? "the program cannot erase; erase the ids by hand where it stores events")
            case "fault" where ofAll: outcome = .fault(code: code ?? 0, message ?? "the program says that it is configured wrongly")
            default: return nil
            }
        }
    }
}
