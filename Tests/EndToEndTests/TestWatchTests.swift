// `switchyard test --watch` with real files and a real signal, and the coverage of branches.

import Foundation
import Glibc
import Testing

@Suite("switchyard test, again and again", .timeLimit(.minutes(5))) struct TestWatchTests {
    private static let routes =
        #"{"plan":"plan.json","providers":{"o":{"plugin":"noop"}},"routes":[{"name":"r","where":"a == 1","to":["o"]}]}"#
    private static let test = #"{"tests":[{"name":"one","event":{"event":"e","a":1},"expect":{"routes":{"r":{"to":["o"]}}}}]}"#

    @Test("runs again when the tests, the configuration or its plan change, and ends on Ctrl-C with the code of the last run")
    func watch() throws {
        let router = try TestRouter(routes: Self.routes)
        try router.write(Self.test, to: "routes.test.json")
        try router.write(#"{"events":{"z":{}}}"#, to: "plan.json")
        let watch = try router.start(["test", "--watch"])
        /// Replaces a file as a whole, so that it is never seen half written.
        func put(_ text: String, _ name: String) throws {
            try router.write(text, to: "new")
            #expect(rename(router.path("new"), router.path(name)) == 0)
        }
        func expect(_ words: String, _ files: String = "3 files") {
            let said = watch.waitForError("waiting for a change of \(files); Ctrl-C ends")
            #expect(said.contains(words), "\(said)")
        }
        expect("waiting")
        #expect(watch.nextOutput().hasPrefix("routes.test.json: 1 of 1 tests passed\n"))
        try put(Self.routes.replacingOccurrences(of: "a == 1", with: "a == 2"), "routes.json")
        expect("routes.json changed")
        #expect(watch.nextOutput().hasPrefix("FAILED routes.test.json: one\n"))
        try put(#"{"events":{"e":{}},"unplanned":"reject"}"#, "plan.json")
        expect("plan.json changed")
        #expect(watch.nextOutput().hasPrefix("FAILED routes.test.json: one\n"))
        // A file that is wrong is reported, and the watch goes on.
        try put("x", "routes.test.json")
        expect("routes.test.json:1:1: ", "1 file")
        try put(Self.test, "routes.test.json")
        expect("routes.test.json changed")
        #expect(watch.nextOutput().hasPrefix("FAILED routes.test.json: one\n"))
        watch.signal(SIGINT)
        #expect(watch.finish().code == 1)
    }

    @Test("refuses to watch what it writes itself, and standard input")
    func refused() throws {
        let router = try TestRouter(routes: Self.routes)
        #expect(try router.run(["test", "--watch", "--update"]).code == 64)
        #expect(try router.run(["test", "--watch", "-"]).code == 64)
    }

    @Test("names the sides of expressions that no test takes, in text and in JUnit XML")
    func branches() throws {
        let routes = #"""
            {"providers":{"o":{"plugin":"noop"}},"routes":[
              {"name":"r","where":"a == 1 || b > 2","not":{"where":"has(c)"},
               "sample":{"rate":1,"keep":{"where":"b == 9"}},
               "transform":[{"set":{"x":{"cel":"b > 5 ? 'high' : 'low'"}}}],"to":["o"]},
              {"name":"plain","events":["p"],"where":"a == 7","to":["o"]}]}
            """#
        let router = try TestRouter(routes: routes)
        func run(_ events: [String]) throws -> [String] {
            let tests = events.enumerated().map { #"{"name":"\#($0)","event":\#($1)}"# }.joined(separator: ",")
            try router.write(#"{"tests":[\#(tests)]}"#, to: "routes.test.json")
            #expect(try router.run(["test", "--update"]).code == 0)
            let result = try router.run(["test", "--junit", "results.xml"])
            #expect(result.code == 0, "\(result)")
            return Array(result.lines.dropFirst())
        }
        // The whole, its two operands, the exclusion, what is kept, and the condition of a value; and the condition of the other route.
        #expect(
            try run([#"{"event":"e","a":1,"b":6}"#, #"{"event":"e","a":2,"b":1}"#, #"{"event":"p","a":8,"b":3,"c":1}"#]) == [
                "routes.json: the tests take 1 of 2 routes, and 10 of 14 branches of expressions",
                "    no test takes route plain",
                "    no test shows that the sample of route r leaves an event out",
                "    no test makes b > 2 true in where of route r",
                "    no test makes b == 9 true in sample.keep.where of route r",
                "    no test makes b > 5 false in transform[0], x of route r",
                "    no test makes a == 7 true in where of route plain",
            ])
        let xml = router.read("results.xml")
        #expect(xml.contains(#"<property name="coverage.routes" value="1 of 2"/>"#))
        #expect(xml.contains(#"<property name="coverage.branches" value="10 of 14"/>"#))
        #expect(xml.contains(#"<property name="coverage.gap" value="no test makes b &gt; 2 true in where of route r"/>"#))
        #expect(
            try run([
                #"{"event":"p","a":1,"b":9}"#, #"{"event":"e","a":2,"b":3}"#, #"{"event":"e","a":2,"b":1}"#, #"{"event":"e","c":1}"#,
                #"{"event":"p","a":7}"#,
            ]).first == "routes.json: the tests take 2 of 2 routes, and 14 of 14 branches of expressions")
    }
}
