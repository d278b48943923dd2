import Seeded
import Testing

@testable import Signals

/// Reads a string in memory of exactly its size.
func reading<Result>(_ text: String, _ use: (TCString?) -> Result) -> Result {
    Array(text.utf8).withUnsafeBufferPointer { use(TCString($0)) }
}

private func isGood(_ text: String) -> Bool { reading(text) { $0 != nil } }

private func allows(_ consent: ModelConsent, _ purpose: Int, vendor: Int? = nil, _ bases: TCString.Bases) -> Bool? {
    reading(consent.text) { $0?.allows(purpose, vendor: vendor, by: bases) }
}

@Suite struct TCStringTests {
    // MARK: The examples of "Consent string and vendor list formats v2" and of "GPP: Consent String Specification"

    @Test("the example with three segments is read: nothing is allowed, and the shown vendors are listed")
    func threeSegments() {
        reading("CQSbk4AQSbk4ANwAAAENAwCgAAAAAAAAAAYgACPAAAAA.IDKQA4AAgAKAGQAygAAA.YAAAAAAAAAAA") { string in
            #expect(string?.created == 17_489_088_000)
            #expect(string?.updated == 17_489_088_000)
            #expect(string?.cmp == 880)
            #expect(string?.policyVersion == 2)
            for purpose in TCString.purposes {
                #expect(string?.allows(purpose, by: [.consent, .legitimateInterest]) == false)
                #expect(string?.allows(purpose, vendor: 2, by: [.consent, .legitimateInterest]) == false)
            }
            for feature in 1...12 { #expect(string?.allows(specialFeature: feature) == false) }
        }
    }

    @Test("the example within a GPP string is read")
    func withinGPP() {
        reading("CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA") { string in
            #expect(string?.created == 16_504_920_000)
            #expect(string?.cmp == 31)
            #expect(string?.allows(1, by: .consent) == false)
        }
    }

    // MARK: Allowed purposes

    @Test("a purpose is allowed by consent, by legitimate interest or by either, as the caller asks")
    func bases() {
        let consent = ModelConsent(purposes: [1, 8, 24], interests: [8, 9])
        #expect(allows(consent, 8, .consent) == true)
        #expect(allows(consent, 8, .legitimateInterest) == true)
        #expect(allows(consent, 9, .consent) == false)
        #expect(allows(consent, 9, [.consent, .legitimateInterest]) == true)
        #expect(allows(consent, 24, .consent) == true)
        #expect(allows(consent, 23, [.consent, .legitimateInterest]) == false)
        #expect(allows(consent, 8, []) == false)
        for purpose in [0, -1, 25, .max, .min] { #expect(allows(consent, purpose, .consent) == false) }
    }

    @Test("a vendor must be allowed on the same basis as the purpose")
    func vendors() {
        let consent = ModelConsent(purposes: [8], interests: [8, 9], vendors: [755], vendorInterests: [2])
        #expect(allows(consent, 8, vendor: 755, .consent) == true)
        #expect(allows(consent, 8, vendor: 755, .legitimateInterest) == false)
        #expect(allows(consent, 8, vendor: 2, .consent) == false)
        #expect(allows(consent, 8, vendor: 2, [.consent, .legitimateInterest]) == true)
        #expect(allows(consent, 9, vendor: 755, [.consent, .legitimateInterest]) == false)
        for vendor in [0, -1, 754, 756, 65_535, 65_536, .max] { #expect(allows(consent, 8, vendor: vendor, .consent) == false) }
    }

    @Test("there is no legitimate interest for purpose 1, nor for purposes 3 to 6 since policy version 4")
    func interests() {
        var consent = ModelConsent(interests: Set(1...24))
        #expect(TCString.purposes.filter { allows(consent, $0, .legitimateInterest) == true } == Array(2...24))
        consent.policy = 4
        #expect(TCString.purposes.filter { allows(consent, $0, .legitimateInterest) == true } == [2] + Array(7...24))
    }

    @Test("a publisher's restriction removes a basis or the purpose for the vendors that it names, and for no others")
    func restrictions() {
        func model(_ kinds: Int...) -> ModelConsent {
            ModelConsent(
                purposes: [8, 9], interests: [8, 9], vendors: [10, 20], vendorInterests: [10, 20],
                restrictions: kinds.map { (8, $0, [9, 10, 11]) })
        }
        let both: TCString.Bases = [.consent, .legitimateInterest]
        #expect(allows(model(0), 8, vendor: 10, both) == false)
        #expect(allows(model(1), 8, vendor: 10, .legitimateInterest) == false)
        #expect(allows(model(1), 8, vendor: 10, .consent) == true)
        #expect(allows(model(2), 8, vendor: 10, .consent) == false)
        #expect(allows(model(2), 8, vendor: 10, .legitimateInterest) == true)
        #expect(allows(model(1, 2), 8, vendor: 10, both) == false)
        #expect(allows(model(0), 9, vendor: 10, both) == true)
        #expect(allows(model(0), 8, vendor: 20, both) == true)
        #expect(allows(model(0), 8, both) == true)
    }

    @Test("a vendor that was not shown to the person is denied if the string lists the shown vendors")
    func disclosed() {
        var consent = ModelConsent(purposes: [8], vendors: [1, 2])
        #expect(allows(consent, 8, vendor: 2, .consent) == true)
        for isRanged in [false, true] {
            consent.isRanged.disclosed = isRanged
            consent.disclosed = [1]
            #expect(allows(consent, 8, vendor: 1, .consent) == true)
            #expect(allows(consent, 8, vendor: 2, .consent) == false)
        }
    }

    @Test("special features are allowed one by one")
    func features() {
        reading(ModelConsent(features: [1, 12]).text) { string in
            #expect((-1...14).filter { string?.allows(specialFeature: $0) == true } == [1, 12])
        }
    }

    // MARK: Broken strings

    private static let good = ModelConsent(purposes: [1], vendors: [3])

    @Test(
        "a string of another version, a string for more than one service, and any other text are broken",
        arguments: [
            "", ".", "C", "B", "COw", "DBABM~", "1YNN", "null", "CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA=",
            "CPXxRfAPXxRfAAfKABENB+CgAAAAAAAAAAYgAAAAAAAA", "CPXxRfAPXxRfAAfKABENB/CgAAAAAAAAAAYgAAAAAAAA",
            " CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA", "CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA\n",
            "CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAä", ModelConsent(version: 1).text, ModelConsent(version: 3).text,
            ModelConsent(isServiceSpecific: false).text, good.text + "~", good.text + "..", ".\(good.text)",
        ])
    func noString(text: String) { #expect(!isGood(text)) }

    @Test("a string that is cut off anywhere is broken")
    func cutOff() {
        let consent = ModelConsent(
            purposes: [1], vendors: [3, 700], vendorInterests: [5], restrictions: [(2, 0, [7, 8, 9])], isRanged: (true, false, false))
        let text = consent.text
        #expect(isGood(text))
        // The last character may be only padding.
        for length in 0..<(text.count - 1) { #expect(!isGood(String(text.prefix(length))), "\(length) characters") }
    }

    @Test("only padding may follow the end")
    func filling() {
        #expect(isGood(Self.good.text + "AAAA"))
        #expect(!isGood(Self.good.text + "AAAB"))
        #expect(!isGood(Self.good.text + String(repeating: "A", count: 20) + "g"))
    }

    /// Writes a core whose vendor consents are these entries of ranges.
    private func ranges(last: Int, count: Int? = nil, _ entries: (Int, Int?)...) -> String {
        let head = ModelConsent().core.bits.dropLast(17 + 17 + 12)
        var bits = BitWriter()
        for bit in head { bits.put(bit == "1") }
        bits.put(last, 16)
        bits.put(true)
        bits.put(count ?? entries.count, 12)
        for (first, last) in entries {
            bits.put(last != nil)
            bits.put(first, 16)
            if let last { bits.put(last, 16) }
        }
        bits.put(0, 17)
        bits.put(0, 12)
        return bits.text
    }

    @Test("ranges that are reversed, begin at 0, exceed the highest vendor or are fewer than declared are broken")
    func brokenRanges() {
        #expect(isGood(ranges(last: 9, (1, 3), (5, nil), (9, 9))))
        #expect(isGood(ranges(last: 0)))
        // The specification does not demand an order.
        #expect(isGood(ranges(last: 9, (5, nil), (1, 3))))
        #expect(!isGood(ranges(last: 9, (3, 1))))
        #expect(!isGood(ranges(last: 9, (0, 3))))
        #expect(!isGood(ranges(last: 9, (0, nil))))
        #expect(!isGood(ranges(last: 9, (8, 10))))
        #expect(!isGood(ranges(last: 9, (10, nil))))
        #expect(!isGood(ranges(last: 65_535, count: 4095, (1, 65_535))))
        reading(ranges(last: 65_535, (65_535, nil))) { #expect($0 != nil) }
    }

    @Test("a bit field that declares more vendors than it has is broken")
    func brokenField() {
        var bits = BitWriter()
        for bit in ModelConsent().core.bits.dropLast(17 + 17 + 12) { bits.put(bit == "1") }
        bits.put(65_535, 16)
        bits.put(false)
        #expect(!isGood(bits.text))
        #expect(!isGood(bits.text + String(repeating: "_", count: 10_000)))
    }

    @Test("a restriction with an invalid kind or purpose is broken")
    func brokenRestrictions() {
        func text(_ purpose: Int, _ kind: Int) -> String { ModelConsent(restrictions: [(purpose, kind, [1])]).text }
        #expect(isGood(text(1, 0)))
        #expect(isGood(text(24, 2)))
        #expect(!isGood(text(1, 3)))
        #expect(!isGood(text(0, 0)))
        #expect(!isGood(text(25, 0)))
    }

    @Test("an unknown, broken or repeated segment makes the string broken")
    func segments() {
        let core = Self.good.text
        func segment(_ kind: Int, _ rest: (Int, width: Int)...) -> String {
            var bits = BitWriter()
            bits.put(kind, 3)
            for part in rest { bits.put(part.0, part.width) }
            return "." + bits.text
        }
        let shown = segment(1, (0, 17))
        let own = segment(3, (1, 24), (1, 24), (2, 6), (0b1101, 4))
        #expect(isGood(core + shown + own))
        #expect(isGood(core + own + shown))
        #expect(isGood(core + segment(2, (0, 17))))
        #expect(!isGood(core + shown + shown))
        #expect(!isGood(core + segment(0, (0, 17))))
        for kind in 4...7 { #expect(!isGood(core + segment(kind, (0, 60)))) }
        #expect(!isGood(core + segment(1, (9, 16), (0, 1))))
        #expect(!isGood(core + segment(3, (1, 24), (1, 24), (63, 6))))
        #expect(!isGood(core + "."))
    }

    // MARK: Random consent

    @Test("random strings are read as they were written, for every purpose, vendor and basis")
    func property() {
        var random = Seeded(state: 11)
        for round in 0..<60 {
            let last = [1, 7, 70, 900, 65_535][random.below(5)]
            func vendors() -> Set<Int> { Set((0..<random.below(30)).map { _ in 1 + random.below(last) }) }
            let consent = ModelConsent(
                created: random.below(1 << 36), updated: random.below(1 << 36), policy: random.below(6),
                features: random.subset(of: 1...12, oneIn: 2), purposes: random.subset(of: 1...24, oneIn: 2),
                interests: random.subset(of: 1...24, oneIn: 2), vendors: vendors(), vendorInterests: vendors(),
                restrictions: (0..<random.below(4)).map { _ in (1 + random.below(24), random.below(3), vendors()) },
                disclosed: random.below(2) == 0 ? nil : vendors(),
                isRanged: (random.below(2) == 0, random.below(2) == 0, random.below(2) == 0))
            reading(consent.text) { string in
                guard let string else {
                    Issue.record("round \(round) is broken: \(consent.text)")
                    return
                }
                #expect(string.created == consent.created)
                #expect(string.updated == consent.updated)
                #expect((1...12).filter(string.allows(specialFeature:)) == consent.features.sorted())
                let named = consent.vendors.union(consent.vendorInterests).union(consent.restrictions.flatMap(\.vendors))
                for purpose in TCString.purposes {
                    for vendor in [nil, 1, last, 1 + random.below(last)] + named.map(Optional.some) {
                        for bases: TCString.Bases in [.consent, .legitimateInterest, [.consent, .legitimateInterest]] {
                            let expected = consent.allows(
                                purpose, vendor: vendor, consent: bases.contains(.consent), interest: bases.contains(.legitimateInterest))
                            if string.allows(purpose, vendor: vendor, by: bases) != expected {
                                Issue.record("round \(round): purpose \(purpose), vendor \(vendor ?? 0): \(consent.text)")
                            }
                        }
                    }
                }
            }
        }
    }
}
