// What the page shows of dead letters: how many there are, and single ones with the answer of the provider. Their events are masked as a tap
// masks them at the stage `dead`. It only reads the file.

internal import DeadLetterStore
internal import Document
internal import Explaining
internal import Plans
internal import Platform
internal import StateFiles

struct PageLetters {
    let folder: String
    let plan: Plan

    /// The most letters of one answer.
    static let most = 50

    /// The counts by provider and reason as a list of JSON.
    func counts() throws(StorageFault) -> String {
        guard let file = try open() else { return "[]" }
        defer { file.close() }
        let counts = try file.counts().map { count in
            "{\"provider\":\(jsonQuoted(count.provider)),\"reason\":\(jsonQuoted(count.reason)),\"count\":\(count.count),"
                + "\"oldest\":\"\(timestamp(count.oldest))\",\"newest\":\"\(timestamp(count.newest))\"}"
        }
        return "[\(counts.joined(separator: ","))]"
    }

    /// The letters after the one with this number, one JSON object a line.
    func lines(after id: Int64) throws(StorageFault) -> String {
        guard let file = try open() else { return "" }
        defer { file.close() }
        return try file.letters(DeadLetterFile.Choice(), after: id, most: PageLetters.most).map(line).joined()
    }

    private func line(_ letter: DeadLetter) -> String {
        var parts = ["\"id\":\(letter.id)", "\"at\":\"\(timestamp(letter.at))\"", "\"provider\":\(jsonQuoted(letter.provider))"]
        parts += ["\"route\":\(jsonQuoted(letter.route))", "\"reason\":\(jsonQuoted(letter.reason))", "\"attempts\":\(letter.attempts)"]
        parts += ["\"code\":\(letter.code)", "\"answer\":\(jsonQuoted(plan.hidden.masked(letter.answer)))"]
        let view = EventView(letter.event, of: plan)
        if let shown = view?.asCopy(of: letter.route, to: letter.provider) {
            parts.append("\"event\":\(shown)")
        } else {
            parts.append("\"members\":[\((view?.memberNames ?? []).map(jsonQuoted).joined(separator: ","))]")
        }
        return "{\(parts.joined(separator: ","))}\n"
    }

    /// Returns nil if there is no file.
    private func open() throws(StorageFault) -> DeadLetterFile? {
        let cipher = plan.state.encrypt.map { Cipher(plan.keys[$0].secret) }
        return try DeadLetterFile(folder + "/" + DeadLetterFile.name, makes: false, verifies: false, cipher: cipher)
    }
}
