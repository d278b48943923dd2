// What a server told about the jobs that it works on: a text for each subject, such as the number of a job. The router keeps all of them as
// one text of bounded length, so only as many subjects are under way at once as fit into it.

internal import ExpressionKit
internal import PluginKit

struct ErasureStates {
    private var states: [Erasure.Subject: String] = [:]

    /// Reads the text. What is no such text is nothing: the jobs begin anew. Only these subjects are still asked about.
    init(_ text: String, of subjects: [Erasure.Subject]) {
        guard let list = try? Settings(json: text).get("jobs", as: [Settings].self) else { return }
        for item in list {
            guard let member: String = item.get("member"), let id: String = item.get("id"), let state: String = item.get("state") else {
                continue
            }
            let subject = Erasure.Subject(member: member, id: id)
            if subjects.contains(subject) { states[subject] = state }
        }
    }

    subscript(subject: Erasure.Subject) -> String {
        get { states[subject] ?? "" }
        set { states[subject] = newValue.isEmpty ? nil : newValue }
    }

    /// True if a state of any length can be added for the subject.
    func hasRoom(for subject: Erasure.Subject) -> Bool {
        if states[subject] != nil { return true }
        // A byte has at most six characters in a text of JSON.
        return text.utf8.count + ErasureStates.item(subject, "").utf8.count + 6 * ErasureTemplate.longestState < Erasure.mostState
    }

    var text: String {
        guard !states.isEmpty else { return "" }
        let items = states.sorted { ($0.key.member, $0.key.id) < ($1.key.member, $1.key.id) }.map { ErasureStates.item($0.key, $0.value) }
        return "{\"jobs\":[\(items.joined(separator: ","))]}"
    }

    private static func item(_ subject: Erasure.Subject, _ state: String) -> String {
        "{\"member\":\(jsonQuoted(subject.member)),\"id\":\(jsonQuoted(subject.id)),\"state\":\(jsonQuoted(state))}"
    }
}
