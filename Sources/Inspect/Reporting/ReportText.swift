// Writes a report as text for a terminal or a file. Columns are aligned, and long cells are broken between words.

internal import Platform

extension ReportDocument {
    private static let width = 100

    var text: String {
        var out = "\(printable(title))\n\(String(repeating: "=", count: printable(title).count))\n"
        for sentence in sentences { out += ReportDocument.wrapped(printable(sentence)) + "\n" }
        for section in sections {
            out += "\n\(printable(section.title))\n\(String(repeating: "-", count: printable(section.title).count))\n"
            for (number, part) in section.parts.enumerated() {
                if number > 0 || !part.title.isEmpty && number == 0 { out += "\n" }
                if !part.title.isEmpty { out += "\(printable(part.title))\n" }
                for sentence in part.sentences { out += ReportDocument.wrapped(printable(sentence)) + "\n" }
                if let table = part.table { out += table.text }
            }
        }
        return out
    }

    private static func wrapped(_ text: String) -> String { lines(of: text, width: width).joined(separator: "\n") }

    /// Breaks a text between words into lines of at most `width` characters. A longer word has a line of its own.
    fileprivate static func lines(of text: String, width: Int) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].isEmpty {
                lines[lines.count - 1] = String(word)
            } else if lines[lines.count - 1].count + 1 + word.count <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}

extension ReportDocument.Table {
    /// The widest a column may be before its cells are broken.
    private static let widest = 40

    fileprivate var text: String {
        let cells = ([columns] + rows).map { $0.map { ReportDocument.lines(of: printable($0), width: ReportDocument.Table.widest) } }
        let widths = columns.indices.map { column in cells.flatMap { $0[column].map(\.count) }.max() ?? 0 }
        var out = ""
        for (number, row) in cells.enumerated() {
            for line in 0..<(row.map(\.count).max() ?? 0) {
                let texts = row.enumerated().map { column, lines in
                    let text = line < lines.count ? lines[line] : ""
                    return text + String(repeating: " ", count: max(0, widths[column] - text.count))
                }
                out += "  " + texts.joined(separator: "  ").trimmedEnd + "\n"
            }
            if number == 0 { out += "  " + widths.map { String(repeating: "-", count: $0) }.joined(separator: "  ") + "\n" }
        }
        return out
    }
}

extension String {
    fileprivate var trimmedEnd: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
