// Writes a report as one HTML page that needs nothing else: no script, no font, no image. Every text is escaped, and its direction of writing
// cannot reach beyond its cell. It prints on A4 and Letter: the heads of tables repeat, and no row is cut in two.

internal import Platform

extension ReportDocument {
    var html: String {
        var out = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(escaped(title, breaks: false))</title>
            <style>
            \(ReportDocument.style)
            </style>
            </head>
            <body>
            <header>
            <h1>\(escaped(title))</h1>
            \(paragraphs(sentences))<nav>
            """
        out += sections.map { "<a href=\"#\($0.name)\">\(escaped($0.title))</a>" }.joined(separator: "\n") + "\n</nav>\n</header>\n<main>\n"
        for section in sections {
            assert(section.name.utf8.allSatisfy { (0x61...0x7a).contains($0) }, "the name of a section is not plain")
            out += "<section id=\"\(section.name)\">\n<h2>\(escaped(section.title))</h2>\n"
            for part in section.parts {
                if !part.title.isEmpty { out += "<h3>\(escaped(part.title))</h3>\n" }
                out += paragraphs(part.sentences)
                if let table = part.table { out += table.html }
            }
            out += "</section>\n"
        }
        return out + "</main>\n</body>\n</html>\n"
    }

    private func paragraphs(_ sentences: [String]) -> String { sentences.map { "<p>\(escaped($0))</p>\n" }.joined() }

    private static let style = """
        :root { --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --shade: #f6f8fa; --accent: #0b5394 }
        * { box-sizing: border-box }
        body { margin: 0; color: var(--ink); background: #fff; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
        header, main { max-width: 62rem; margin: 0 auto; padding: 0 1.5rem }
        header { padding-top: 2rem }
        h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem }
        h2 { font-size: 1.25rem; margin: 2.2rem 0 .4rem; padding-bottom: .25rem; border-bottom: 2px solid var(--accent) }
        h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; overflow-wrap: anywhere }
        p { margin: .3rem 0; max-width: 48rem; overflow-wrap: anywhere }
        header p { color: var(--soft) }
        nav { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin-top: .8rem; padding: .6rem 0; border-top: 1px solid var(--line) }
        nav a { color: var(--accent); text-decoration: none }
        nav a:hover, nav a:focus { text-decoration: underline }
        .wide { overflow-x: auto }
        table { border-collapse: collapse; width: 100%; margin: .6rem 0 1rem; font-size: .92em }
        th, td { text-align: left; vertical-align: top; padding: .38rem .6rem; border-bottom: 1px solid var(--line) }
        thead th { background: var(--shade); border-bottom: 2px solid var(--line); font-weight: 600 }
        tbody th { font-weight: 600 }
        .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
        @page { margin: 16mm 14mm }
        @media print {
          body { font-size: 9.5pt }
          header, main { max-width: none; padding: 0 }
          nav { display: none }
          .wide { overflow: visible }
          thead { display: table-header-group }
          tr, h2, h3 { break-inside: avoid }
          h2, h3, section p { break-after: avoid }
          thead th { print-color-adjust: exact; -webkit-print-color-adjust: exact }
        }
        """
}

extension ReportDocument.Table {
    fileprivate var html: String {
        let numbers = columns.indices.map { column in column > 0 && rows.allSatisfy { $0[column].isNumber } }
        var out = "<div class=\"wide\"><table>\n<thead><tr>"
        for (column, isNumber) in zip(columns, numbers) {
            out += "<th scope=\"col\"\(isNumber ? " class=\"number\"" : "")>\(escaped(column))</th>"
        }
        out += "</tr></thead>\n<tbody>\n"
        for row in rows {
            out += "<tr><th scope=\"row\"><bdi>\(escaped(row[0]))</bdi></th>"
            for (cell, isNumber) in zip(row, numbers).dropFirst() {
                out += "<td\(isNumber ? " class=\"number\"" : "")><bdi>\(escaped(cell))</bdi></td>"
            }
            out += "</tr>\n"
        }
        return out + "</tbody>\n</table></div>\n"
    }
}

extension String {
    /// True for a number with commas between its thousands.
    fileprivate var isNumber: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ",") } }
}

/// The number of characters after which a word may be broken, so that no table is wider than the page.
private let longestWord = 24

/// Returns the text as it is written in HTML, in an element. Control characters become visible. If `breaks` is true, long words may be broken.
private func escaped(_ text: String, breaks: Bool = true) -> String {
    var out = ""
    var length = 0
    for scalar in printable(text).unicodeScalars {
        length = scalar == " " ? 0 : length + 1
        if breaks, length > longestWord {
            out += "<wbr>"
            length = 1
        }
        switch scalar {
        case "&": out += "&amp;"
        case "<": out += "&lt;"
        case ">": out += "&gt;"
        case "\"": out += "&quot;"
        case "'": out += "&#39;"
        default: out.unicodeScalars.append(scalar)
        }
    }
    return out
}
