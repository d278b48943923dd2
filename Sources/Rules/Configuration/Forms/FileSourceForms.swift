// The form of a source that reads files: which files, and whether they are removed.

internal import Document
internal import FormReading
internal import Plans

enum FileSourceForms {
    private enum File: String, CaseIterable { case file }
    private static let hour = 3_600_000

    static let file = Form<FileSourcePlan>.object(
        FileSourcePlan(),
        [
            Member("plugin", Forms.choice(File.self), required: true, "Files of lines that other processes write."), LintForms.member(),
            Member(
                "paths", Forms.set("paths", of: path), required: true, "Which files, as patterns: var/*.ndjson.",
                example: #"["var/*.ndjson"]"#, into: \.paths),
            Member("drain", Forms.boolean, "Whether a file is removed after all of it was taken in safely.", into: \.drains),
            Member(
                "idle", Forms.time(100...(24 * hour)),
                "How long nobody must have written to a file before it is removed, or is no longer followed after it lost its name; 10s when left out.",
                into: \.idle),
            Member(
                "consent", SourceForms.right,
                "\"write\" lets its events grant consent, tie ids and erase; they can only refuse when left out.", example: #""write""#,
                into: \.consent),
            Member(
                "poll", Forms.time(100...hour), "How often to look for changes that the system does not report; 30s when left out.",
                into: \.poll),
        ]
    ).then { plan, _, _ -> FileSourcePlan? in plan }

    private static let path = Form<String>(SchemaParts.text) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        guard !text.value.isEmpty, !text.value.utf8.contains(0), text.value.utf8.last != UInt8(ascii: "/") else {
            reading.refuse(node, "the path of files, such as \"var/*.ndjson\"")
            return nil
        }
        return text.value
    }
}
