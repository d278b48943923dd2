// Writes the results of tests as JUnit XML, which build servers read. Pure: results in, a text out.

public enum JUnit {
    /// Returns the document. Each suite is one file of tests.
    /// `coverage` has for each configuration what the tests take, and what they do not try. It is written as properties of an empty suite.
    public static func text(
        _ suites: [(name: String, results: [TestResult])], coverage: [(name: String, coverage: Coverage)] = []
    ) -> String {
        let all = suites.flatMap(\.results)
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text += "<testsuites name=\"switchyard\" \(counts(all))>\n"
        for (name, results) in suites {
            text += "  <testsuite name=\"\(escaped(name))\" \(counts(results))>\n"
            for result in results {
                let start = "    <testcase classname=\"\(escaped(name))\" name=\"\(escaped(result.name))\""
                guard let first = result.failures.first else {
                    text += start + "/>\n"
                    continue
                }
                let rest = escaped(result.failures.joined(separator: "\n"))
                text += start + ">\n      <failure message=\"\(escaped(first))\">\(rest)</failure>\n    </testcase>\n"
            }
            text += "  </testsuite>\n"
        }
        for (name, coverage) in coverage {
            text += "  <testsuite name=\"\(escaped(name))\" \(counts([]))>\n    <properties>\n"
            text += property("routes", "\(coverage.taken) of \(coverage.all)")
            text += property("branches", "\(coverage.sidesTaken) of \(coverage.sides)")
            for gap in coverage.gaps { text += property("gap", gap) }
            text += "    </properties>\n  </testsuite>\n"
        }
        return text + "</testsuites>\n"
    }

    private static func property(_ name: String, _ value: String) -> String {
        "      <property name=\"coverage.\(name)\" value=\"\(escaped(value))\"/>\n"
    }

    private static func counts(_ results: [TestResult]) -> String {
        "tests=\"\(results.count)\" failures=\"\(results.count { !$0.failures.isEmpty })\" errors=\"0\" skipped=\"0\""
    }

    /// Escapes what XML reserves. Characters that XML 1.0 cannot hold become U+FFFD.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n", "\t", "\r": escaped += "&#\(scalar.value);"
            case "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...: escaped.unicodeScalars.append(scalar)
            default: escaped += "\u{FFFD}"
            }
        }
        return escaped
    }
}
