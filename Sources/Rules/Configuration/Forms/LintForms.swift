// The form of the key `lint`, which silences findings of `switchyard lint` in the object that has it. The router does not read it.

internal import Document
internal import FormReading
internal import Plans

/// What an object allows. Nothing keeps it: the linter reads the file itself.
struct LintAllowance: Sendable {
    var numbers: [String] = []
}

enum LintForms {
    static let section = Form<LintAllowance>.object(
        LintAllowance(),
        [
            Member(
                "allow", Forms.set("numbers", of: number), required: true,
                "The numbers of the findings that are meant to be so here, such as \"SY0103\".", example: #"["SY0103"]"#, into: \.numbers)
        ])

    private static let number = Form<String>(SchemaParts.pattern("^SY[0-9]{4}$")) { node, reading in
        guard let text = node.text, !text.isTainted, isNumber(text.value) else {
            reading.refuse(node, "the number of a finding, such as \"SY0103\"")
            return nil
        }
        return text.value
    }.showing(#""SY0103""#)

    private static func isNumber(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 6 && bytes.starts(with: "SY".utf8) && bytes.dropFirst(2).allSatisfy(Lexer.isDigit)
    }

    /// The member of an object that can silence findings.
    static func member<Whole>() -> Member<Whole> {
        Member("lint", section, "Findings of switchyard lint that are meant to be so in this object; none when left out.")
    }
}
