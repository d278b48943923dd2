// JUnit XML for build servers.

import RouteTesting
import Testing

@Suite("JUnit XML") struct JUnitTests {
    @Test("has a suite for each file, and a failure with what differs")
    func document() {
        let text = JUnit.text([
            ("a.json", [TestResult(name: "one", failures: []), TestResult(name: "two", failures: ["route <x>: \"no\"", "more"])])
        ])
        #expect(text.contains(#"<testsuites name="switchyard" tests="2" failures="1" errors="0" skipped="0">"#))
        #expect(text.contains(#"<testcase classname="a.json" name="one"/>"#))
        #expect(text.contains(#"<failure message="route &lt;x&gt;: &quot;no&quot;">route &lt;x&gt;: &quot;no&quot;&#10;more</failure>"#))
    }

    @Test("replaces characters that XML cannot hold")
    func controls() { #expect(JUnit.text([("a\u{1}\u{FFFF}b", [])]).contains("name=\"a\u{FFFD}\u{FFFD}b\"")) }
}
