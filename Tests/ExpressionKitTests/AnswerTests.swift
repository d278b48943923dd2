import Testing

@Suite("Answers by expressions")
struct AnswerTests {
    @Test("the first rule whose condition holds decides, by status, header or body; without one the status decides")
    func whole() throws {
        let rules = #"""
            [{"where": "status == 409", "outcome": "delivered"},
             {"where": "'x-full' in headers && headers['x-full'] == 'yes'", "outcome": "retry", "reason": "body.why"},
             {"where": "status == 200 && has(body.error)", "outcome": "rejected", "reason": "body.error"},
             {"where": "status == 418", "outcome": "unknown"}, {"where": "status == 402", "outcome": "fault", "reason": "{'n': count}"}]
            """#
        #expect(try judge(rules, status: 409, "{}").outcome == "delivered")
        #expect(
            try judge(rules, status: 503, #"{"why":"busy"}"#, headers: [("x-full", "yes")]).outcome
                == "retry 503 https://x answered 503: busy after 7")
        #expect(try judge(rules, #"{"error":"bad"}"#).outcome == "rejected 200 https://x answered 200: bad")
        #expect(try judge(rules, status: 418, "{}").outcome == "unknown 418 https://x answered 418")
        #expect(try judge(rules, status: 402, "{}").outcome == #"fault 402 https://x answered 402: {"n":3}"#)
        #expect(try judge(rules, #"{"ok":1}"#).outcome == "delivered")
        #expect(try judge(rules, status: 503, "{}").outcome == "retry 503 standard")
    }

    @Test("an answer that cannot be evaluated delivers nothing, and otherwise the status decides")
    func garbage() throws {
        let rules = #"[{"where": "body.errors", "outcome": "rejected"}]"#
        for body in [
            "", "garbage", "[]", "{}", #"{"errors":"yes"}"#, "{\"errors\":true", "null", "{\"errors\":1}{", "\u{0}",
            #"{"errors":"\ud800"}"#,
        ] {
            let outcome = try judge(rules, body).outcome
            #expect(
                outcome.hasPrefix("unknown 200 https://x answered 200, but the answer cannot be evaluated: answers[0].where: "), "\(body)")
            #expect(try judge(rules, status: 503, body).outcome == "retry 503 standard")
            #expect(try judge(rules, status: 400, body).outcome == "rejected 400 standard")
        }
        #expect(try judge(rules, #"{"errors":false}"#).outcome == "delivered")
        #expect(
            try judge(rules, #"{"errors":false}"#, isCut: true).outcome
                == "unknown 200 https://x answered 200, but the answer is too long to be evaluated")
    }

    private let inOrder = #"""
        [{"where": "status == 200", "items": "body.items", "rejected": "item.s == 400", "retry": "item.s == 429", "unknown": "item.s == 500",
          "reason": "item.why"}]
        """#

    @Test("items in order are about the events in order")
    func positions() throws {
        #expect(
            try judge(inOrder, #"{"items":[{"s":200},{"s":400,"why":"no"},{"s":429}]}"#).outcome
                == "mixed delivered; 0 delivered; 1 rejected 200 https://x answered 200: no; 2 retry 200 https://x answered 200")
        #expect(
            try judge(inOrder, #"{"items":[{"s":200},{"s":200},{"s":500,"why":7}]}"#).outcome
                == "mixed delivered; 0 delivered; 1 delivered; 2 unknown 200 https://x answered 200: 7")
    }

    @Test("an event without an item in a list in order is unknown, and an item without an event is noted")
    func lengths() throws {
        #expect(
            try judge(inOrder, #"{"items":[{"s":200},{"s":400}]}"#).outcome
                == "mixed delivered; 0 delivered; 1 rejected 200 https://x answered 200; 2 unknown 200 https://x answered 200, "
                + "but its answer has 2 items for 3 events")
        #expect(try judge(inOrder, #"{"items":[]}"#).outcome.contains("0 unknown 200"))
        let longer = try judge(inOrder, #"{"items":[{"s":200},{"s":200},{"s":200},{"s":200},{"s":400}]}"#)
        #expect(longer.note == "https://x answered 200, but 2 items name events that the request did not hold")
        #expect(longer.outcome.hasSuffix("; 0 delivered; 1 delivered; 2 delivered"))
    }

    @Test("all items of an answer share its steps: with a hostile answer the first are judged, and the rest are unknown")
    func hostileAnswer() throws {
        let rules = #"[{"items": "body.items", "rejected": "item.matches('[ab]{500}c')", "index": "0"}]"#
        let items = Array(repeating: "\"\(String(repeating: "a", count: 40_000))\"", count: 12).joined(separator: ",")
        let outcome = try judge(rules, "{\"items\":[\(items)]}").outcome
        #expect(outcome.contains("of the event take more steps than they may together"), "\(outcome)")
        #expect(try judge(rules, #"{"items":["a","b"]}"#).outcome.hasPrefix("mixed delivered; 0 delivered"))
    }

    @Test("an item that cannot be evaluated makes its event unknown, and no other")
    func brokenItem() throws {
        let outcome = try judge(inOrder, #"{"items":[{"s":200},{},{"s":200}]}"#).outcome
        #expect(
            outcome == "mixed delivered; 0 delivered; 1 unknown 200 https://x answered 200, but an item cannot be evaluated: "
                + "answers[0].rejected: item.s: there is no such key; 2 delivered")
        #expect(
            try judge(inOrder, #"{"items":{"0":1}}"#).outcome
                == "unknown 200 https://x answered 200, but the answer cannot be evaluated: answers[0].items gives no list")
        #expect(try judge(inOrder, #"{}"#).outcome.contains("cannot be evaluated: answers[0].items: body.items: there is no such key"))
    }

    private func named(_ name: String, _ more: String = "") -> String {
        #"[{"where": "has(body.errors)", "items": "body.errors", \#(name), "rejected": "item.bad", "retry": "!item.bad"\#(more)}]"#
    }

    @Test("items name their events by index, and the others are what the status says")
    func indices() throws {
        let rules = named(#""index": "item.i""#)
        #expect(try judge(rules, #"{"errors":[{"i":2,"bad":true}]}"#).outcome == "mixed delivered; 2 rejected 200 https://x answered 200")
        #expect(
            try judge(rules, status: 503, #"{"errors":[{"i":0,"bad":true}]}"#).outcome
                == "mixed retry 503 standard; 0 rejected 503 https://x answered 503")
        #expect(try judge(rules, #"{"errors":[]}"#).outcome == "delivered")
    }

    @Test("items name their events by message id, and two events with one id share its fate")
    func ids() throws {
        let rules = named(#""id": "item.i""#)
        #expect(
            try judge(rules, #"{"errors":[{"i":"b","bad":true},{"i":"a","bad":false}]}"#, ids: ["a", "b", "b", nil]).outcome
                == "mixed delivered; 0 retry 200 https://x answered 200; 1 rejected 200 https://x answered 200; "
                + "2 rejected 200 https://x answered 200")
        // Texts are compared by their bytes: é in one and in two code points are different ids.
        #expect(try judge(rules, #"{"errors":[{"i":"e\u0301","bad":true}]}"#, ids: ["\u{e9}"]).note != nil)
    }

    @Test("of several items about one event the worst counts, in any order")
    func twice() throws {
        let rules = named(#""index": "item.i""#)
        for errors in [#"[{"i":1,"bad":true},{"i":1,"bad":false}]"#, #"[{"i":1,"bad":false},{"i":1,"bad":true}]"#] {
            #expect(try judge(rules, "{\"errors\":\(errors)}").outcome == "mixed delivered; 1 retry 200 https://x answered 200")
        }
    }

    @Test(
        "a refusal of an event that the request did not hold settles no event, is counted, and leaves the others unknown",
        arguments: [
            #"{"i":3,"bad":true}"#, #"{"i":-1,"bad":true}"#, #"{"i":9223372036854775807,"bad":true}"#,
            #"{"i":18446744073709551615,"bad":true}"#,
            #"{"i":1.5,"bad":true}"#, #"{"i":"1","bad":true}"#, #"{"bad":true}"#, #"{"i":null,"bad":false}"#, #"{"i":1e300,"bad":true}"#,
        ])
    func strangers(item: String) throws {
        let heard = try judge(named(#""index": "item.i""#), #"{"errors":[\#(item),{"i":0,"bad":true}]}"#)
        let words = "https://x answered 200, but 1 item names an event that the request did not hold"
        #expect(heard.note == words)
        #expect(heard.outcome == "mixed unknown 200 \(words); 0 rejected 200 https://x answered 200")
    }

    @Test("a good word about an event that the request did not hold changes nothing")
    func goodStranger() throws {
        let rules = #"[{"items": "body", "index": "item.i", "rejected": "item.bad"}]"#
        let heard = try judge(rules, #"[{"i":7,"bad":false},{"i":8,"bad":false}]"#)
        #expect(heard.outcome == "delivered")
        #expect(heard.note == "https://x answered 200, but 2 items name events that the request did not hold")
    }

    @Test("others says what becomes of the events that no item refuses")
    func others() throws {
        let rules = named(#""index": "item.i""#, #", "others": "retry""#)
        #expect(
            try judge(rules, status: 400, #"{"errors":[{"i":1,"bad":true}]}"#).outcome
                == "mixed retry 400 https://x answered 400 after 7; 1 rejected 400 https://x answered 400")
    }

    @Test("the words of a server are cut, hold no secret and no control character")
    func reasons() throws {
        let rules = #"[{"outcome": "rejected", "reason": "body.w"}]"#
        #expect(
            try judge(rules, #"{"w":"key s3cret-token \u001b[31m\n"}"#).outcome
                == #"rejected 200 https://x answered 200: key *** \u001b[31m\n"#)
        let long = try judge(rules, "{\"w\":\"\(String(repeating: "é", count: 400))\"}").outcome
        #expect(long.hasSuffix("é...") && long.utf8.count < 350)
        #expect(try judge(rules, "{}").outcome == "rejected 200 https://x answered 200")
    }

    @Test("header names are in lower case, and a header that came twice is joined")
    func headers() throws {
        let rules = #"[{"where": "headers['x-a'] == '1, 2'", "outcome": "unknown"}]"#
        #expect(try judge(rules, headers: [("x-a", "1"), ("x-a", "2")]).outcome.hasPrefix("unknown"))
        #expect(try judge(rules).outcome.contains("cannot be evaluated: answers[0].where: headers['x-a']: there is no such key"))
    }

    @Test("constants are known to answers")
    func constants() throws {
        #expect(
            try judge(#"[{"where": "body == constants.ok", "outcome": "retry"}]"#, "fine", constants: #"{"ok":"fine"}"#).outcome.hasPrefix(
                "retry"))
    }

    @Test(
        "rules that contradict themselves are refused",
        arguments: [
            ("[]", "answers must not be empty; leave it out to let the status decide"),
            ("[{}]", "answers[0] lacks what becomes of the events: 'outcome', or 'items'"),
            (
                #"[{"outcome": "retry"}, {"outcome": "fault"}]"#,
                "answers[0] has no 'where', so the rules after it are never asked; move it to the end"
            ),
            (#"[{"outcome": "retry", "items": "body"}]"#, "answers[0] has both 'outcome' and 'items'; a rule has one of them"),
            (#"[{"outcome": "retry", "index": "1"}]"#, "answers[0] has 'index', which is only for rules with 'items'"),
            (#"[{"items": "body"}]"#, "answers[0] has 'items', but none of 'rejected', 'retry' and 'unknown', so no item means anything"),
            (
                #"[{"items": "body", "retry": "true", "id": "'a'", "index": "1"}]"#,
                "answers[0] has both 'index' and 'id'; an item names its event in one way"
            ),
            (#"[{"where": "boddy.x", "outcome": "retry"}]"#, "answers[0].where, column 1: nothing is called 'boddy'"),
            (#"[{"where": "status", "outcome": "retry"}]"#, "answers[0].where, column 1: a condition is true or false, but this gives int"),
            (#"[{"where": "item.x", "outcome": "retry"}]"#, "answers[0].where, column 1: nothing is called 'item'"),
            (#"[{"outcome": "retry", "reason": "item"}]"#, "answers[0].reason, column 1: nothing is called 'item'"),
        ])
    func contradictions(rules: String, expected: String) {
        #expect(refusal("\"answers\": \(rules)") == expected)
    }
}
