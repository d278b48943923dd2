// The output of `switchyard providers NAME --mapping`: where the members of an event go, and what is refused or cut, as text of 80 columns
// or as JSON. The rows come from a module, so control characters are escaped, and long words are broken.

internal import Document
public import Plans

extension Listing {
    /// Returns nil if the module describes no mapping.
    public static func mapping(_ about: ModuleDescription) -> String? {
        guard about.hasMapping else { return nil }
        var text = ForeignText.harmless("\(about.name) \(about.version)") + "\n"
        if !about.mapping.isEmpty {
            let rows = about.mapping.map { [$0.from, $0.to, $0.note] }
            text += "\n" + wrappedColumns([["OF THE EVENT", "AT THE DESTINATION", "NOTE"]] + rows)
        }
        for (title, rows) in [("REFUSED", about.refuses), ("CUT", about.cuts)] where !rows.isEmpty {
            text += "\n\(title)\n" + rows.map { wrappedColumns([["-", $0.what]], widths: [1, width - 3]) }.joined()
        }
        return text
    }

    /// Returns the mapping as one JSON object, or nil if the module describes none.
    public static func mappingJSON(_ about: ModuleDescription) -> String? {
        guard about.hasMapping else { return nil }
        let rows = about.mapping.map { row in
            JSONText.object([
                ("from", JSONText.quoted(row.from)), ("to", JSONText.quoted(row.to)), ("note", JSONText.quoted(row.note)),
                ("rest", "\(row.isRest)"),
            ])
        }
        func limits(_ rows: [ModuleDescription.LimitRow]) -> String {
            JSONText.list(
                rows.map { row in
                    JSONText.object([
                        ("topic", JSONText.quoted(row.topic)), ("most", row.most.map { "\($0)" } ?? "null"),
                        ("what", JSONText.quoted(row.what)),
                    ])
                })
        }
        return JSONText.object([
            ("name", JSONText.quoted(about.name)), ("version", JSONText.quoted(about.version)), ("mapping", JSONText.list(rows)),
            ("refuses", limits(about.refuses)), ("cuts", limits(about.cuts)),
        ])
    }

    // MARK: - Columns

    private static let width = 80

    /// Returns rows whose cells are broken into lines. The first columns get at most the room that leaves some for the last one.
    private static func wrappedColumns(_ rows: [[String]], widths given: [Int]? = nil) -> String {
        let rows = rows.map { $0.map(ForeignText.harmless) }
        func longest(_ column: Int) -> Int { rows.map { $0[column].count }.max() ?? 0 }
        let first = min(longest(0), 32)
        let second = min(longest(1), 26)
        let widths = given ?? [first, second, width - first - second - 4]
        var result = ""
        for row in rows {
            let cells = zip(row, widths).map { lines(of: $0, width: $1) }
            for index in 0..<(cells.map(\.count).max() ?? 0) {
                var line = ""
                for (cell, width) in zip(cells, widths) {
                    let part = index < cell.count ? cell[index] : ""
                    line += part + String(repeating: " ", count: max(0, width - part.count) + 2)
                }
                while line.hasSuffix(" ") { line.removeLast() }
                result += line + "\n"
            }
        }
        return result
    }

    /// Breaks a text at spaces, and a word that is too long anywhere.
    private static func lines(of text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            var word = word
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            while line.isEmpty, word.count > width {
                lines.append(String(word.prefix(width)))
                word = word.dropFirst(width)
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }
}

extension ModuleDescription {
    public var hasMapping: Bool { !mapping.isEmpty || !refuses.isEmpty || !cuts.isEmpty }
}
