// Names that look like markup or formulas, and texts that may not be shown.

import Testing

@testable import Reporting

@Suite struct HostileTests {
    private static let names = [
        #"<script>alert(1)</script>"#, #"" onmouseover="x"#, "'><img src=x onerror=y>", "&lt;b&gt;", "=1+2", "+cmd|' /C calc'!A0", "-2+3",
        "@SUM(A1)",
        "a\u{202e}b", "\u{1b}[31mred", "line\nbreak", "\u{ff1d}1", "\t=1",
    ]

    private func document(_ name: String) -> ReportDocument {
        ReportDocument(
            title: name, sentences: [name],
            sections: [.init("x", name, [.init(name, [name], table: .init([name, name], [[name, name]]))])])
    }

    @Test(arguments: names) func `a name is text in HTML, whatever it holds`(_ name: String) throws {
        let html = document(name).html
        let plain = document("name").html
        // The same tags in the same order, and no control character.
        #expect(tags(html) == tags(plain))
        #expect(
            html.unicodeScalars.allSatisfy { $0.value == 10 || $0.value >= 0x20 && !(0x7f..<0xa0).contains($0.value) && $0.value != 0x202e }
        )
    }

    @Test func `a long word can be broken, and its text stays`() {
        let html = document(String(repeating: "x", count: 60)).html
        #expect(html.contains(String(repeating: "x", count: 24) + "<wbr>" + String(repeating: "x", count: 24) + "<wbr>"))
    }

    private func tags(_ html: String) -> [String] {
        html.split(separator: "<").dropFirst().map { String($0.prefix { $0 != ">" }) }.filter { $0 != "wbr" }
    }

    @Test(arguments: names) func `a name is one cell in CSV, and never a formula`(_ name: String) throws {
        let lines = document(name).csv.split(separator: "\r\n").dropFirst()
        #expect(lines.count == 3)
        for line in lines {
            let cells = cells(of: line)
            #expect(cells.count == 5)
            for cell in cells {
                #expect(!"=+-@＝＋－＠\t\r".contains(cell.first ?? "x"), "\(cell)")
                #expect(cell.unicodeScalars.allSatisfy { $0.value >= 0x20 })
            }
        }
    }

    /// Reads the cells of a line as RFC 4180 says.
    private func cells(of line: Substring) -> [String] {
        var cells = [""]
        var isQuoted = false
        var last: Character?
        for c in line {
            if c == "\"" {
                // A second quote inside quotes is a quote.
                if !isQuoted, last == "\"" { cells[cells.count - 1].append("\"") }
                isQuoted.toggle()
            } else if c == ",", !isQuoted {
                cells.append("")
            } else {
                cells[cells.count - 1].append(c)
            }
            last = c
        }
        #expect(!isQuoted)
        return cells
    }

    @Test(arguments: names) func `a name cannot steer a terminal`(_ name: String) throws {
        #expect(document(name).text.unicodeScalars.allSatisfy { $0.value == 10 || $0.value >= 0x20 && $0.value != 0x202e })
    }

    @Test(arguments: ReportFormat.allCases) func `no secret of the configuration is shown, even as a name`(_ format: ReportFormat) throws {
        let text = """
            { "keys": { "ids": "${env:SECRET}" }, "consent": { "levels": { "none": [], "${env:SECRET}": ["p"] }, "default": "none" },
              "providers": { "out": { "plugin": "file", "transform": [ { "set": { "a": "${env:SECRET}" } } ] } },
              "routes": [ { "name": "${env:SECRET}", "events": ["${env:SECRET}"], "match": { "x": "${env:SECRET}" },
                            "transform": [ { "drop": ["[\\"${env:SECRET}\\"]"] }, { "move": { "b": "[\\"${env:SECRET}\\"]" } } ], "to": ["out"] } ] }
            """
        let written = try report(text).written(as: format)
        #expect(!written.contains(secret))
        #expect(written.contains("out"))
    }
}
