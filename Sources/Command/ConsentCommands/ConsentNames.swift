// The names of levels and purposes that a configuration has, against which requests and imports are checked.

internal import ConsentGate
internal import Document
internal import Plans

/// The levels and purposes of a plan. Names in requests and imports are checked against them.
struct ConsentNames: Sendable {
    private let levels: [String]
    private let known: [String]
    private let hidden: HiddenTexts

    init(_ plan: Plan) {
        let section = plan.consent?.levels ?? []
        levels = section.map(\.name)
        // Every level has the purposes of those below it.
        let known = section.last?.purposes ?? []
        assert(section.allSatisfy { Set($0.purposes ?? []).isSubset(of: known) }, "a level has a purpose that a higher one lacks")
        self.known = known
        hidden = plan.hidden
    }

    func shown(_ name: String) -> String { hidden.masked(name) }

    func checkLevel(_ level: String) throws(ConsentRefusal) {
        guard !levels.contains(level) else { return }
        throw ConsentRefusal(400, "unknown level '\(level)', expected \(ConsentNames.either(levels.map(shown)))")
    }

    /// Returns the names if all of them are known purposes.
    func purposes(_ names: [String], of member: String) throws(ConsentRefusal) -> [String] {
        guard !names.contains("") else { throw ConsentRefusal(400, "\(member) must be names separated by commas") }
        guard let strange = names.first(where: { !known.contains($0) }) else { return names }
        throw ConsentRefusal(400, "unknown purpose '\(strange)', \(expectedPurposes)")
    }

    private var expectedPurposes: String {
        known.isEmpty ? "the levels of routes.json name none" : "expected \(ConsentNames.either(known.map(shown)))"
    }

    /// Returns why the terms of an import line are invalid, without quoting the line. Returns nil if they are valid.
    func fault(of terms: ConsentTerms) -> String? {
        if let level = terms.level, !levels.contains(level) {
            return "level is unknown, expected \(ConsentNames.either(levels.map(shown)))"
        }
        let isKnown = (terms.granted + terms.denied).allSatisfy(known.contains)
        return isKnown ? nil : "a purpose is unknown, \(expectedPurposes)"
    }

    private static func either(_ names: [String]) -> String {
        names.count < 2 ? names.joined() : names.dropLast().joined(separator: ", ") + " or " + names.last!
    }
}
