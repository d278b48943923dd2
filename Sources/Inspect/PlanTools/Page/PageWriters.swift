// The two forms of a page. Each writes texts of other people, and escapes all of them.

internal import Document

protocol PageWriter {
    mutating func heading(_ text: String, level: Int, anchor: String?)
    mutating func paragraph(_ text: String)
    mutating func list(_ facts: [(name: String, text: String)])
    mutating func links(_ links: [(text: String, anchor: String)])
    mutating func table(_ head: [String], _ rows: [[String]])
    func finish() -> String
}

struct HTMLPage: PageWriter {
    private var body = ""

    private static let head = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <meta name="color-scheme" content="light dark">
        <title>Tracking plan</title>
        <style>
        body { font-family: system-ui, sans-serif; line-height: 1.5; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
        div { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; }
        th, td { border: 1px solid #8888; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
        dt { font-weight: bold; }
        bdi { unicode-bidi: isolate; }
        </style>
        </head>
        <body>

        """

    /// The text with its markup escaped, isolated so that its direction does not change its surroundings.
    static func escaped(_ text: String) -> String {
        var result = "<bdi>"
        for scalar in Words.visible(text).unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "</bdi>"
    }

    mutating func heading(_ text: String, level: Int, anchor: String?) {
        body += "<h\(level)\(anchor.map { " id=\"\($0)\"" } ?? "")>\(HTMLPage.escaped(text))</h\(level)>\n"
    }

    mutating func paragraph(_ text: String) { body += "<p>\(HTMLPage.escaped(text))</p>\n" }

    mutating func list(_ facts: [(name: String, text: String)]) {
        body += "<dl>\n"
        for fact in facts { body += "<dt>\(HTMLPage.escaped(fact.name))</dt><dd>\(HTMLPage.escaped(fact.text))</dd>\n" }
        body += "</dl>\n"
    }

    mutating func links(_ links: [(text: String, anchor: String)]) {
        body += "<nav><ul>\n"
        for link in links { body += "<li><a href=\"#\(link.anchor)\">\(HTMLPage.escaped(link.text))</a></li>\n" }
        body += "</ul></nav>\n"
    }

    mutating func table(_ head: [String], _ rows: [[String]]) {
        body += "<div tabindex=\"0\"><table>\n<thead><tr>"
        for cell in head { body += "<th scope=\"col\">\(HTMLPage.escaped(cell))</th>" }
        body += "</tr></thead>\n<tbody>\n"
        for row in rows { body += "<tr>" + row.map { "<td>\(HTMLPage.escaped($0))</td>" }.joined() + "</tr>\n" }
        body += "</tbody>\n</table></div>\n"
    }

    func finish() -> String { HTMLPage.head + body + "</body>\n</html>\n" }
}

struct MarkdownPage: PageWriter {
    private var parts: [String] = []

    /// The text in one line, with each character escaped that Markdown or HTML in it could interpret.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in Words.visible(text).unicodeScalars {
            switch scalar {
            case "<": result += "&#60;"
            case ">": result += "&#62;"
            case "&": result += "&amp;"
            // A colon or an @ makes links of addresses in some readers.
            case ":": result += "&#58;"
            case "@": result += "&#64;"
            case _ where scalar.isASCII && "\\`*_{}[]()#+-.!|~$=^\"'/".unicodeScalars.contains(scalar):
                result += "\\"
                result.unicodeScalars.append(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    mutating func heading(_ text: String, level: Int, anchor: String?) {
        let target = anchor.map { "<a id=\"\($0)\"></a>" } ?? ""
        parts.append("\(String(repeating: "#", count: level)) \(target)\(MarkdownPage.escaped(text))")
    }

    mutating func paragraph(_ text: String) { parts.append(MarkdownPage.escaped(text)) }

    mutating func list(_ facts: [(name: String, text: String)]) {
        parts.append(facts.map { "- **\(MarkdownPage.escaped($0.name))**: \(MarkdownPage.escaped($0.text))" }.joined(separator: "\n"))
    }

    mutating func links(_ links: [(text: String, anchor: String)]) {
        parts.append(links.map { "- [\(MarkdownPage.escaped($0.text))](#\($0.anchor))" }.joined(separator: "\n"))
    }

    mutating func table(_ head: [String], _ rows: [[String]]) {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        let lines = [line(head), line(head.map { _ in "---" })] + rows.map { line($0.map(MarkdownPage.escaped)) }
        parts.append(lines.joined(separator: "\n"))
    }

    func finish() -> String { parts.joined(separator: "\n\n") + "\n" }
}
