// Tests national ids with published examples: the rule of each country, its check digit, and the words that announce a number.

import Testing

@testable import Redaction

@Suite struct NationalIDTests {
    private func found(_ text: String, in countries: CountrySet = .all) throws -> String {
        let kinds = SensitiveSet(.nationalID)
        let line = try scrubbed(#"{"k":"\#(text)"}"#, Scrub(kinds: kinds, countries: countries)).line
        return String(line.dropFirst(6).dropLast(2))
    }

    /// Ids that are found without a word, by country. For each, the id with another last character is none.
    private static let ids: [(Country, [String])] = [
        (.us, ["536-90-4399", "536 90 4399"]), (.gb, ["AB123456C", "AB 12 34 56 C"]), (.de, ["36 574 261 809"]),
        (.fr, ["2 95 10 99 126 111 93", "295109912611193"]), (.es, ["54362315K", "X-2482300-W", "X2482300W"]),
        (.it, ["RCCMNL83S18D969H"]), (.nl, ["1112.22.333"]), (.pl, ["44051401359"]), (.se, ["880320-0016", "198803200016"]),
        (.br, ["390.533.447-05", "39053344705"]), (.kr, ["971013-9019902"]), (.cn, ["360426199101010071", "11010519491231002X"]),
        (.in, ["2341 2341 2346"]), (.jp, ["6141 0637 1847"]), (.fi, ["131052-308T"]), (.ch, ["756.9217.0769.85", "7569217076985"]),
        (.no, ["151086 95088", "15108695088"]), (.tr, ["17291716060"]), (.be, ["85.07.30-033.28", "17 07 30 033 84"]),
    ]

    @Test(arguments: ids) func `the id of a country is found, if that country is asked for`(_ country: Country, _ examples: [String]) throws
    {
        for id in examples {
            #expect(try found("id \(id), ok") == "id [national_id], ok")
            #expect(try found(id, in: CountrySet(country)) == "[national_id]")
            #expect(try found(id, in: CountrySet.all.subtracting(CountrySet(country))) == id)
            #expect(try found("7\(id)") == "7\(id)")
            #expect(try found("\(id)7") == "\(id)7")
        }
    }

    @Test(arguments: ids.filter { ![.us, .gb, .kr].contains($0.0) })
    func `an id whose check digit is wrong stays`(_ country: Country, _ examples: [String]) throws {
        for id in examples {
            let last = id.last!
            let other = last == "9" ? "8" : last.isNumber ? "\(Int(String(last))! + 1)" : last == "A" ? "B" : "A"
            #expect(try found(String(id.dropLast()) + other, in: CountrySet(country)) == String(id.dropLast()) + other)
        }
    }

    @Test(arguments: [
        ("BSN 111222333", "BSN [national_id]"), ("bsn: 111222333", "bsn: [national_id]"), ("111222333", "111222333"),
        ("my SSN is 536904399", "my SSN is [national_id]"), ("536904399", "536904399"),
        ("Steuer-ID: 36574261809", "Steuer-ID: [national_id]"),
        ("SteuerID 36574261809", "SteuerID [national_id]"), ("36574261809", "36574261809"),
        ("aadhaar=234123412346", "aadhaar=[national_id]"),
        ("234123412346", "234123412346"), ("CPR 211062-5629", "CPR [national_id]"), ("211062-5629", "211062-5629"),
        ("order 39053344705", "order 39053344705"), ("マイナンバー：614106371847", "マイナンバー：[national_id]"),
    ])
    func `a form that random digits often have needs a word before it, and the number of an order stays`(
        _ text: String, _ expected: String
    ) throws {
        #expect(try found(text) == expected)
    }

    @Test(arguments: [
        (#"{"ssn":"536904399"}"#, #"{"ssn":"[national_id]"}"#), (#"{"userBSN" : "111222333"}"#, #"{"userBSN" : "[national_id]"}"#),
        (#"{"user_bsn" : "111222333"}"#, #"{"user_bsn" : "[national_id]"}"#), (#"{"ids":["536904399"]}"#, #"{"ids":["536904399"]}"#),
        (#"{"ssn":1,"536904399":2}"#, #"{"ssn":1,"536904399":2}"#),
    ])
    func `the key of the member is such a word`(_ line: String, _ expected: String) throws {
        #expect(try scrubbed(line, Scrub(kinds: SensitiveSet(.nationalID))).line == expected)
    }

    @Test(arguments: [
        "000-12-3456", "666-12-3456", "123-00-4567", "123-45-0000", "900-10-1234", "BG123456A", "DA123456A", "ab123456c", "AB123456E",
        "1234 5678 9012 3456", "131352-308T", "971313-9019902", "99910119491231002X", "11111111111", "00000000000",
    ])
    func `numbers that were never issued stay`(_ text: String) throws { #expect(try found(text) == text) }

    @Test func `the set of a country is the one of its name`() {
        let named: [CountrySet] = [
            .belgium, .brazil, .switzerland, .china, .germany, .denmark, .spain, .finland, .france, .britain, .india, .italy, .japan,
            .korea,
            .netherlands, .norway, .poland, .sweden, .turkey, .unitedStates,
        ]
        #expect(Country.allCases.map(CountrySet.init) == named)
    }
}
