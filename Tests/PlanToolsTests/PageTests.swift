// The page of a plan: what it says, and that no text of the plan becomes markup.

import Testing

@testable import PlanTools

@Suite("The page of a plan") struct PageTests {
    private static let plan = #"""
        {"names":"^[a-z]+$","require":["messageId"],"unplanned":"mark","violation":"reject",
         "events":{"order":{"owner":"shop","description":"An order was paid.","violation":"strip",
           "properties":{"type":"object","required":["total","id"],"additionalProperties":false,
             "properties":{"total":{"type":"number","minimum":0,"description":"In euros."},"mail":{"type":["string","null"],"format":"email","private":true},
               "lines":{"type":"array","items":{"type":"object","required":["sku"],"properties":{"sku":{"enum":["a","b"]}}}},
               "odd":{"not":{"type":"null"}}}},
           "versions":{"2":{"traits":{"properties":{"n":{"type":"integer"}}}}}},
          "ping":{}}}
        """#

    private static func page(_ plan: String, _ format: PlanPage.Format) throws -> String {
        PlanPage.text(try PlanDocument(Array(plan.utf8)), as: format)
    }

    @Test("the page in Markdown has owners, descriptions, versions, types, rules and what a violation does")
    func markdown() throws {
        let page = try Self.page(Self.plan, .markdown)
        for part in [
            "# Tracking plan\n\n- **Events**: 2\n- **Names match**: \\^\\[a\\-z\\]\\+\\$\n- **Every event has**: messageId",
            "- **An event that the plan does not name**: it passes with a mark", "- [order](#event-1)\n- [ping](#event-2)",
            "## <a id=\"event-1\"></a>order\n\nAn order was paid\\.\n\n- **Owner**: shop\n"
                + "- **If it violates the plan**: it loses the offending members\n- **Versions**: 2",
            "### Without a version", "### Version 2",
            "| properties | object | no | no other members |  |", "| properties\\.total | number | yes | minimum 0 | In euros\\. |",
            "| properties\\.mail | string or null | no | private&#58; it never leaves as it came; format email |  |",
            "| properties\\.lines | array of object | no |  |  |",
            "| properties\\.lines\\[\\]\\.sku | string | yes | one of \\\"a\\\", \\\"b\\\" |  |",
            "| properties\\.odd | any | no | not \\{\\\"type\\\"&#58;\\\"null\\\"\\} |  |", "| properties\\.id | any | yes |  |  |",
            "| traits\\.n | integer | no |  |  |", "The plan names no members\\.",
        ] {
            #expect(page.contains(part), "\(part)\n\(page)")
        }
    }

    @Test("the page in HTML has the same rows, and loads nothing")
    func html() throws {
        let page = try Self.page(Self.plan, .html)
        #expect(page.contains("<tr><td><bdi>properties.total</bdi></td><td><bdi>number</bdi></td><td><bdi>yes</bdi></td>"), "\(page)")
        #expect(page.contains(#"<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"#))
        for word in ["<script", "src=", "http://", "https://", "url(", "@import", "<link"] { #expect(!page.contains(word)) }
        #expect(page.contains(##"<li><a href="#event-2"><bdi>ping</bdi></a></li>"##) && page.contains(#"<h2 id="event-2">"#))
    }

    private static let hostile =
        #"</h2><script>alert('x')</script>|`\" onload=\"x\n# [a](javascript:b)\u001b[31m\u202e![i](http://c.example/p.png) <a@b.example>"#

    @Test("hostile texts of a plan are shown as text", arguments: PlanPage.Format.allCases)
    func hostile(format: PlanPage.Format) throws {
        let text = Self.hostile
        let page = try Self.page(
            #"{"events":{"\#(text)":{"owner":"\#(text)","description":"\#(text)","properties":{"description":"\#(text)","properties":"#
                + #"{"\#(text)":{"enum":["\#(text)"],"description":"\#(text)"}}}},"b":{}}}"#, format)
        for word in ["<script", "\u{1b}", "\u{202e}", "</h2><", "\" onload", "](javascript", "](http", "http://c", "<a@", "a@b"] {
            // Brackets and addresses are harmless in HTML, and quotes in Markdown.
            let isHarmless = format == .html ? ["](javascript", "](http", "http://c", "a@b"].contains(word) : word == "\" onload"
            #expect(!page.contains(word) || isHarmless, "\(word)")
        }
        #expect(page.contains(format == .html ? "\\u{1b}[31m\\u{202e}" : "\\\\u\\{1b\\}\\[31m"), "\(page)")
        // Each line is one that the page itself begins.
        if format == .markdown {
            for line in page.split(separator: "\n") {
                #expect(["# T", "- **", "- [", "## <", "| ", "&#60;", "The plan"].contains { line.hasPrefix($0) }, "\(line)")
            }
        }
    }
}
