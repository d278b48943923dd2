// Writes a report as CSV (RFC 4180): one line for each cell of a table, and one for each sentence, with the section, the part and the row to
// which it belongs. A cell that a spreadsheet would take for a formula begins with an apostrophe, so that it is text there.

internal import Platform

extension ReportDocument {
    var csv: String {
        var out = ReportDocument.record(["section", "part", "row", "column", "value"])
        for sentence in sentences { out += ReportDocument.record(["report", "", "", "", sentence]) }
        for section in sections {
            for part in section.parts {
                for sentence in part.sentences { out += ReportDocument.record([section.name, part.title, "", "", sentence]) }
                guard let table = part.table else { continue }
                for row in table.rows {
                    for (column, value) in zip(table.columns, row).dropFirst() {
                        out += ReportDocument.record([section.name, part.title, row[0], column, value])
                    }
                }
            }
        }
        return out
    }

    private static func record(_ cells: [String]) -> String { cells.map(cell).joined(separator: ",") + "\r\n" }

    /// Returns a cell in quotes. Control characters are written as escapes.
    static func cell(_ text: String) -> String {
        let shown = printable(text)
        let isFormula = shown.unicodeScalars.first.map(formulaSigns.contains) ?? false
        var cell = isFormula ? "\"'" : "\""
        for scalar in shown.unicodeScalars { cell += scalar == "\"" ? "\"\"" : String(scalar) }
        return cell + "\""
    }

    /// The signs with which a formula begins, also in their wide forms, which some spreadsheets read alike.
    private static let formulaSigns: Set<Unicode.Scalar> = ["=", "+", "-", "@", "\u{ff1d}", "\u{ff0b}", "\u{ff0d}", "\u{ff20}"]
}
