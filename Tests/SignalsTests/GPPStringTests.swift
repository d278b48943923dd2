import Seeded
import Testing

@testable import Signals

private func reading<Result>(_ text: String, _ use: (GPPString?) -> Result) -> Result {
    Array(text.utf8).withUnsafeBufferPointer { use(GPPString($0)) }
}

private func optOuts(_ text: String) -> OptOuts? { reading(text) { $0?.optOuts } }

private func header(_ ids: [Int], kind: Int = 3, version: Int = 1) -> String {
    var bits = BitWriter()
    bits.put(kind, 6)
    bits.put(version, 6)
    bits.put(ids.count, 12)
    var last = 0
    for id in ids {
        bits.put(false)
        bits.putFibonacci(id - last)
        last = id
    }
    return bits.text
}

/// The numbers of two-bit fields in a section, by the tables of the specifications: notices, the opt-outs in order, kinds of sensitive
/// data, kinds of known children, the rest.
private struct Section: CustomTestStringConvertible, Sendable {
    let id: Int
    var version = 1
    let notices: Int
    let optOuts: [OptOuts]
    let sensitive: Int
    let children: Int
    let rest: Int
    var testDescription: String { "section \(id), version \(version)" }

    init(_ id: Int, version: Int = 1, _ notices: Int, _ optOuts: [OptOuts], _ sensitive: Int, _ children: Int, _ rest: Int) {
        (self.id, self.version, self.notices, self.optOuts) = (id, version, notices, optOuts)
        (self.sensitive, self.children, self.rest) = (sensitive, children, rest)
    }

    private static let usual: [OptOuts] = [.sale, .targetedAdvertising]
    static let all = [
        Section(7, 6, [.sale, .sharing, .targetedAdvertising], 12, 2, 4),
        Section(7, version: 2, 6, [.sale, .sharing, .targetedAdvertising], 16, 3, 4), Section(8, 3, [.sale, .sharing], 9, 2, 4),
        Section(9, 3, usual, 8, 1, 3), Section(10, 3, usual, 7, 1, 3), Section(11, 4, usual, 8, 1, 3), Section(12, 3, usual, 8, 3, 3),
        Section(13, 3, usual, 8, 3, 4), Section(14, 3, usual, 8, 3, 4), Section(15, 3, usual, 11, 3, 4), Section(16, 3, usual, 8, 1, 4),
        Section(17, 3, usual, 9, 5, 4), Section(18, 4, usual, 8, 1, 3), Section(19, 3, usual, 8, 1, 4), Section(20, 3, usual, 8, 3, 4),
        Section(21, 3, usual, 10, 5, 4), Section(22, 3, usual, 8, 1, 4), Section(23, 3, usual, 8, 1, 4),
        // The agreement stands before the notices, and sensitive data in a segment of its own.
        Section(24, 5, usual, 0, 0, 1), Section(25, 5, usual, 0, 1, 1), Section(26, 5, usual, 0, 1, 1), Section(27, 5, usual, 0, 1, 1),
    ]

    /// Writes a core. `choices` has the values of the opt-out fields, then those of sensitive data.
    func core(_ choices: [Int], version: Int? = nil) -> BitWriter {
        var bits = BitWriter()
        bits.put(version ?? self.version, 6)
        for _ in 0..<notices { bits.put(1, 2) }
        for choice in choices { bits.put(choice, 2) }
        // The fields for known children and for the agreement are not opt-outs.
        for _ in 0..<(children + rest) { bits.put(1, 2) }
        return bits
    }

    var choiceCount: Int { optOuts.count + sensitive }
    func text(_ choices: [Int], gpc: String = "") -> String { header([id]) + "~" + core(choices).text + gpc }
    func meaning(_ index: Int) -> OptOuts { index < optOuts.count ? optOuts[index] : .sensitiveData }
}

@Suite struct GPPStringTests {
    // MARK: The examples of "GPP: Consent String Specification"

    @Test("the example with only the European section gives that section")
    func european() {
        reading("DBABM~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA") { string in
            #expect(string?.tcf?.cmp == 31)
            #expect(string?.optOuts == [])
            #expect(string?.isGlobalControl == false)
        }
    }

    @Test(
        "the examples with two sections are read, with and without padding in the header",
        arguments: [
            "DBACNY~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA~1YNN", "DBACNYA~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA~1YNN",
        ])
    func twoSections(text: String) {
        reading(text) { string in
            #expect(string?.tcf?.cmp == 31)
            #expect(string?.optOuts == [])
        }
        #expect(optOuts(String(text.dropLast(2)) + "YN") == .sale)
    }

    @Test("the example with a range of sections skips the Canadian section")
    func canadian() {
        reading("DBABjw~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA~1YNN") { string in
            #expect(string != nil)
            #expect(string?.tcf == nil)
        }
        #expect(optOuts("DBABjw~what it says does not matter~1YYN") == .sale)
    }

    // MARK: Sections of the United States

    @Test("each field of each section has exactly the specified meaning", arguments: Section.all)
    private func fields(section: Section) {
        let none = [Int](repeating: 2, count: section.choiceCount)
        #expect(optOuts(section.text(none)) == [])
        #expect(optOuts(section.text(none.map { _ in 0 })) == [])
        for index in 0..<section.choiceCount {
            var one = none
            one[index] = 1
            #expect(optOuts(section.text(one)) == section.meaning(index), "field \(index)")
            one[index] = 3
            #expect(optOuts(section.text(one)) == nil, "field \(index)")
        }
    }

    @Test("a section that is cut off or has another version makes the string broken", arguments: Section.all)
    private func brokenSections(section: Section) {
        let none = [Int](repeating: 2, count: section.choiceCount)
        let text = section.core(none).text
        for length in 0..<text.count {
            #expect(optOuts(header([section.id]) + "~" + text.prefix(length)) == nil, "\(length) characters")
        }
        for version in [0, section.id == 7 ? 3 : 2, 63] {
            #expect(optOuts(header([section.id]) + "~" + section.core(none, version: version).text) == nil)
        }
        // A later version may append fields.
        // Version 1 of the national section is then long enough to be read with more kinds of sensitive data.
        if section.id != 7 || section.version != 1 { #expect(optOuts(section.text(none) + "x_") == []) }
    }

    @Test(
        "Global Privacy Control is a separate segment, and not an opt-out",
        arguments: Section.all.filter { ![25, 26, 27].contains($0.id) })
    private func control(section: Section) {
        let none = [Int](repeating: 2, count: section.choiceCount)
        func isOn(_ segment: String) -> Bool? { reading(section.text(none, gpc: segment)) { $0?.isGlobalControl } }
        #expect(isOn("") == false)
        #expect(isOn(".YA") == true)
        #expect(isOn(".Y") == true)
        #expect(isOn(".QA") == false)
        #expect(optOuts(section.text(none, gpc: ".YA")) == [])
        for broken in [".", ".A", ".gA", ".oA", ".YA.YA", ".Y=", ".YA."] { #expect(isOn(broken) == nil, "\(broken)") }
    }

    @Test("an opt-out in any section counts")
    func union() {
        let (national, state) = (Section.all[0], Section.all[3])
        var (choices, others) = ([Int](repeating: 2, count: national.choiceCount), [Int](repeating: 2, count: state.choiceCount))
        choices[1] = 1
        others[1] = 1
        let text = header([6, 7, 9]) + "~1YYN~" + national.core(choices).text + "~" + state.core(others).text + ".YA"
        reading(text) { string in
            #expect(string?.optOuts == [.sale, .sharing, .targetedAdvertising])
            #expect(string?.isGlobalControl == true)
        }
    }

    @Test("an unknown section states nothing")
    func unknown() {
        for id in [1, 3, 4, 28, 29, 500, 4000] { #expect(optOuts(header([id]) + "~\u{7f}.=") == []) }
    }

    @Test("the older US Privacy string has four characters", arguments: ["1YYN", "1-Y-", "1YNY", "1---", "1NNN"])
    func privacyString(text: String) {
        #expect(optOuts(header([6]) + "~" + text) == (text.dropFirst(2).first == "Y" ? .sale : []))
    }

    // MARK: Broken strings

    @Test(
        "a text that is not a GPP string of version 1 is broken",
        arguments: [
            "", "~", "D", "DBA", "DBAB", "DBABM", "DBABM~", "DBABM~CPXx", "DBABM~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA~",
            "DBACNY~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA", "DBABM=~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA",
            "CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA", "1YNN", header([6], kind: 2) + "~1YNN", header([6], version: 2) + "~1YNN",
            header([6]) + "B~1YNN", header([6]) + "~1YN", header([6]) + "~1YNNN", header([6]) + "~2YNN", header([6]) + "~1yyn",
            header([6]) + "~1Y N", header([6]) + "~1YNN~1YNN", header([6, 7]) + "~1YNN", header([6]) + ".QA~1YNN",
        ])
    func noString(text: String) { #expect(optOuts(text) == nil) }

    @Test("a header with too many sections or with an endless number is broken")
    func brokenHeaders() {
        func text(_ change: (inout BitWriter) -> Void) -> String {
            var bits = BitWriter()
            bits.put(3, 6)
            bits.put(1, 6)
            change(&bits)
            return bits.text + "~a~b"
        }
        #expect(
            optOuts(
                text {
                    $0.put(1, 12)
                    $0.put(true)
                    $0.putFibonacci(500)
                    $0.putFibonacci(1)
                }) == [])
        for more in [2, 3, 60_000] {
            let broken = text {
                $0.put(1, 12)
                $0.put(true)
                $0.putFibonacci(500)
                $0.putFibonacci(more)
            }
            #expect(optOuts(broken) == nil)
        }
        #expect(optOuts(text { $0.put(4095, 12) }) == nil)
        #expect(
            optOuts(
                text {
                    $0.put(2, 12)
                    for _ in 0..<50 { $0.put(0, 30) }
                }) == nil)
    }

    @Test("Fibonacci coding gives the numbers of the specification's table", arguments: [1, 2, 3, 4, 5, 6, 7, 12, 53, 54, 55, 4000])
    func fibonacci(number: Int) {
        var bits = BitWriter()
        bits.putFibonacci(number)
        let table = [1: "11", 2: "011", 3: "0011", 4: "1011", 5: "00011", 6: "10011", 7: "01011"]
        if let code = table[number] { #expect(bits.bits == code) }
        #expect(optOuts(header([number == 6 ? 600 : number + 600]) + "~x") == [])
        Array(bits.text.utf8).withUnsafeBufferPointer {
            var bits = Bits($0)!
            #expect(bits.takeFibonacci() == number)
        }
    }

    @Test("random opt-outs in random sections are read as they were written")
    func property() {
        var random = Seeded(state: 5)
        for _ in 0..<2000 {
            var chosen: [Int: Section] = [:]
            for _ in 0..<random.below(5) {
                let section = Section.all[random.below(Section.all.count)]
                chosen[section.id] = section
            }
            var expected: OptOuts = []
            var isControlled = false
            var text = header(chosen.keys.sorted())
            for id in chosen.keys.sorted() {
                let section = chosen[id]!
                let choices = (0..<section.choiceCount).map { _ in random.below(8) == 0 ? 1 : 2 * random.below(2) }
                for (index, choice) in choices.enumerated() where choice == 1 { expected.formUnion(section.meaning(index)) }
                let gpc = [25, 26, 27].contains(id) ? "" : ["", ".QA", ".YA"][random.below(3)]
                isControlled = isControlled || gpc == ".YA"
                text += "~" + section.core(choices).text + gpc
            }
            reading(text) { string in
                #expect(string?.optOuts == expected, "\(text)")
                #expect(string?.isGlobalControl == isControlled, "\(text)")
            }
        }
    }
}
