import Dialects
import Events
import Testing

@Suite struct NativeBodies {
    @Test(arguments: [
        ("{\"a\":1}\n{\"b\":2.50}\n", ["{\"a\":1}", "{\"b\":2.50}"]),
        ("{\"a\":1}\r\n\r\n  \n{\"b\" : 2}", ["{\"a\":1}", "{\"b\" : 2}"]),
        ("\u{feff}{\"a\":1}", ["{\"a\":1}"]),
        ("\n  {\"a\":1}\n {\"b\":2} ", ["  {\"a\":1}", " {\"b\":2} "]),
        ("[{\"a\":1} , {\"b\":[1,{}]}]\n", ["{\"a\":1}", "{\"b\":[1,{}]}"]),
        ("[]", []), ("", []), (" \n\n", []),
        ("{\n  \"a\": \"x\\ny  z\",\n  \"b\": [\n1\n]\n}\n", ["{   \"a\": \"x\\ny  z\",   \"b\": [ 1 ] }"]),
        ("{\n\"a\":1\n}\n{\n\"b\":2\n}", ["{ \"a\":1 }", "{ \"b\":2 }"]),
        ("[\n  {\n    \"a\": 1\n  }\n]", ["{     \"a\": 1   }"]),
        ("[{\"a\":\"}]{[,\\\"]\"}]", ["{\"a\":\"}]{[,\\\"]\"}"]),
    ])
    func becomeOneLineForEachEventWithEveryByteKept(_ body: String, _ lines: [String]) {
        let translated = translate(body, Native())
        #expect(translated.lines == lines)
        #expect(translated.results == lines)
        #expect(translated.refusal == nil)
        #expect(translated.isEveryLineAnEvent)
    }

    @Test(arguments: [
        ("{\"a\":1}\nnope\n{\"b\":2}", ["{\"a\":1}", "8: an event must be a JSON object, found 0x6e 'n'", "{\"b\":2}"]),
        ("{\"a\":1,\n{\"b\":2}\n{\"c\":3}", ["7: expected a key in double quotes, found the end of the line", "{\"b\":2}", "{\"c\":3}"]),
        ("{\"a\":\"x\n{\"b\":2}\n", ["7: the line ends inside a string", "{\"b\":2}"]),
        ("[{\"a\":tru},{\"b\":2}]", ["9: expected true, false or null, found 0x7d '}'", "{\"b\":2}"]),
        (
            "[1,\"x\",nul,[],{\"b\":2}]",
            [
                "1: an event must be a JSON object, found 0x31 '1'", "3: an event must be a JSON object, found 0x22 '\"'",
                "7: an event must be a JSON object, found 0x6e 'n'", "11: an event must be a JSON object, found 0x5b '['", "{\"b\":2}",
            ]
        ),
        ("[{\"a\":\"\\x\"},{\"b\":2}]", ["8: an escape that JSON does not have, found 0x78 'x'", "{\"b\":2}"]),
        ("[{\"n\":NaN,\"a\":01},{\"b\":2}]", ["15: a number must not begin with 0, found 0x31 '1' after it", "{\"b\":2}"]),
    ])
    func loseABadEventAloneAndSayWhere(_ body: String, _ results: [String]) {
        let translated = translate(body, Native())
        #expect(translated.results == results)
        #expect(translated.refusal == nil)
        #expect(translated.isEveryLineAnEvent)
    }

    @Test func thatAreCutOffAreRefusedFromThereOn() {
        let translated = translate("[{\"a\":1},{\"b\":", Native())
        #expect(translated.results == ["{\"a\":1}"])
        #expect(translated.refusal == "14: the body ends inside the event")
        #expect(translate("[{\"a\":1}", Native()).refusal == "8: the body ends inside the event")
        #expect(translate("[{\"a\":1}] x", Native()).refusal == "10: expected the end of the body after the array")
    }

    @Test func haveLimitsOfEventsLinesAndOutput() {
        let limits = TranslationLimits(events: 2, line: 10, output: 18, depth: 3)
        #expect(translate("{}\n{}\n{}", Native(), limits: limits).refusal == "6: the request has more than 2 events; send fewer at a time")
        #expect(translate("{}\n{}\n\n", Native(), limits: limits).refusal == nil)
        #expect(
            translate("[{\"a\":1234},{\"a\":12345}]", Native(), limits: limits).results == [
                "{\"a\":1234}", "12: the event is larger than 10 bytes",
            ])
        #expect(
            translate("[{\"a\":1234},{\"a\":123}]", Native(), limits: limits).results == [
                "{\"a\":1234}", "12: the events of this request become more than 18 bytes; send fewer at a time",
            ])
        #expect(translate("{\"a\":[{}]}\n", Native(), limits: limits).lines.count == 1)
        #expect(translate("{\"a\":[[[", Native(), limits: limits).results == ["7: the event nests deeper than 3 levels"])
    }

    @Test func survivesAMillionOpenBrackets() {
        let body = "[" + String(repeating: "[", count: 1_000_000) + "{"
        let open = translate(body, Native())
        #expect(open.results.isEmpty && open.refusal != nil)
        #expect(translate(String(repeating: "{\"a\":", count: 200_000), Native()).lines.isEmpty)
    }
}

@Suite struct Salvage {
    @Test(arguments: [
        ("{\"a\":NaN,\"b\":[Infinity,-Infinity , NaN]}", "{\"a\":\"NaN\",\"b\":[\"Infinity\",\"-Infinity\" , \"NaN\"]}"),
        ("{\"a\":\"NaN\",\"b\":NaN}", "{\"a\":\"NaN\",\"b\":\"NaN\"}"),
        ("{\"lone\":\"\\ud800\",\"nul\":\"\\u0000\"}", "{\"lone\":\"\\ud800\",\"nul\":\"\\u0000\"}"),
        (
            "{\"n\":170141183460469231731687303715884105728,\"m\":9007199254740993}",
            "{\"n\":170141183460469231731687303715884105728,\"m\":9007199254740993}"
        ),
        ("{\"a\":\"x\ty\u{1}\"}", "{\"a\":\"x\\ty\\u0001\"}"),
    ])
    func keepsWhatClientLibrariesMean(_ event: String, _ kept: String) {
        for body in [event, "[\(event)]", "[{},\(event)\n,{}]"] {
            let translated = translate(body, Native())
            #expect(translated.lines.contains(kept))
            #expect(translated.isEveryLineAnEvent)
        }
    }

    @Test func makesOneLineOfAnEventThatWasWrittenOverSeveral() {
        #expect(translate("[{\"a\":NaN,\n\"b\":2}]", Native()).lines == ["{\"a\":\"NaN\", \"b\":2}"])
    }

    @Test func escapesANewlineInAStringOfAnArray() {
        #expect(translate("[{\"a\":\"x\ny\"}]", Native()).lines == ["{\"a\":\"x\\ny\"}"])
    }

    @Test(
        arguments: [
            ([0xff], "\u{fffd}"), ([0xe6, 0x9d], "\u{fffd}"), ([0xed, 0xa0, 0x80], "\u{fffd}\u{fffd}\u{fffd}"),
            ([0xc0, 0xaf], "\u{fffd}\u{fffd}"), ([0xf0, 0x9f, 0x9a, 0x97, 0xf0, 0x9f], "🚗\u{fffd}"),
        ] as [([UInt8], String)])
    func replacesWhatIsNoUTF8(_ bytes: [UInt8], _ text: String) {
        let body = Array("[{\"a\":\"x".utf8) + bytes + Array("y\"},{}]".utf8)
        #expect(translate(body, Native()).lines == ["{\"a\":\"x\(text)y\"}", "{}"])
    }

    @Test(arguments: [
        "{NaN:1}", "{\"a\":1,NaN:1}", "{\"a\":NaNa}", "{\"a\":-NaN}", "{\"a\":infinity}", "{\"a\":undefined}", "{\"a\":1,}", "{'a':1}",
        "{\"a\":0x10}", "{\"a\":1}//", "{\"a\":NaN \"b\":1}", "{\"a\":1 NaN}",
    ])
    func guessesNothingElse(_ event: String) {
        #expect(translate(event, Native()).lines.isEmpty)
        #expect(translate("[{},\(event),{}]", Native()).lines.count >= 1)
    }

    @Test func lastOfTwoMembersWinsWhereARuleNamesThem() {
        let body = "{\"x\":{\"k\":1,\"k\":{\"k\":0,\"k\":1} , \"\\u006b\":3,\"l\":4},\"x\":{\"b\":[{\"c\":1,\"c\":2}],\"k\":1,\"k\":2}}"
        #expect(translate(body, Native()).lines == [body])
        #expect(translate(body, Native(), wanted: [path("x")]).lines == ["{\"x\":{\"b\":[{\"c\":2}],\"k\":2}}"])
        #expect(
            translate("{\"x\":{\"k\":1,\"k\":2,\"l\":3},\"y\":[{\"k\":1}]}", Native(), wanted: [path("x.k")]).lines == [
                "{\"x\":{\"k\":2,\"l\":3},\"y\":[{\"k\":1}]}"
            ])
    }

    @Test func mendsAndChoosesInTheSameEvent() {
        #expect(translate("{\"type\":NaN,\"type\":\"a\",\"b\":NaN}", Native()).lines == ["{\"type\":\"a\",\"b\":\"NaN\"}"])
    }
}
