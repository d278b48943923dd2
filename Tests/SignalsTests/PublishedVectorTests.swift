import Testing

@testable import Signals

private func reading(_ text: String, _ use: (GPPString?) -> Void) {
    Array(text.utf8).withUnsafeBufferPointer { use(GPPString($0)) }
}

/// A section as IAB's own encoder (iabgpp-es) writes it in its tests.
private struct Vector: CustomTestStringConvertible, Sendable {
    let id: Int
    let text: String
    let optOuts: OptOuts
    var testDescription: String { "section \(id): \(text)" }

    init(_ id: Int, _ text: String, _ optOuts: OptOuts = []) { (self.id, self.text, self.optOuts) = (id, text, optOuts) }

    static let all: [Vector] = {
        let usual: OptOuts = [.sale, .targetedAdvertising, .sensitiveData]
        let national: [Vector] = [
            Vector(7, "CAAAAAAAAABA.QA"), Vector(7, "CVVVkkkkkpFY.YA", [.sale, .sharing, .targetedAdvertising, .sensitiveData]),
            Vector(7, "BAAAVVVVUQA.QA", .sensitiveData), Vector(7, "CAAAVVVVAFBA.QA", .sensitiveData),
            Vector(7, "CAAAVVVVVVRA.QA", .sensitiveData),
        ]
        let states: [(Int, String, String, OptOuts)] = [
            (8, "BAAAAABA.QA", "BVWSSSVY.YA", [.sale, .sharing, .sensitiveData]), (9, "BAAAABA", "BVWSSVY", usual),
            (10, "BAAAAEA.QA", "BVWSSVg.YA", usual), (11, "BAAAAAQA", "BVVkklWA", usual), (12, "BAAAAAEA.QA", "BVWSSZFg.YA", usual),
            (13, "BAAAAABA", "BVWSSZlY", usual), (14, "BAAAAABA.QA", "BVWSSZFY.YA", usual), (15, "BAAAAAABAA.QA", "BVWSSRpFYA.YA", usual),
            (16, "BAAAAAQA.QA", "BVWSSVWA.YA", usual), (17, "BAAAAAABAA.QA", "BVWSSSSVYA.YA", usual),
            (18, "BAAAAAQA.QA", "BVVkklWA.YA", usual),
            (19, "BAAAAAQA.QA", "BVWSSVWA.YA", usual), (20, "BAAAAABA.QA", "BVWSSZFY.YA", usual),
            (21, "BAAAAAAAQA.QA", "BVWSSRklWA.YA", usual), (22, "BAAAAAQA.QA", "BVWSSVWA.YA", usual),
            (23, "BAAAAAQA.QA", "BVWSSVWA.YA", usual), (24, "BQAA.QA", "BVVU.YA", [.sale, .targetedAdvertising]),
            (25, "BQAA.AAA", "BVVV.kkk", usual), (26, "BQAA.AAA", "BVVV.kkk", usual), (27, "BQAA.AAA", "BVVV.kkk", usual),
        ]
        return national + states.flatMap { [Vector($0.0, $0.1), Vector($0.0, $0.2, $0.3)] }
    }()
}

private func header(_ id: Int) -> String {
    var bits = BitWriter()
    bits.put(3, 6)
    bits.put(1, 6)
    bits.put(1, 12)
    bits.put(false)
    bits.putFibonacci(id)
    return bits.text
}

private let express: TCString.Bases = .consent
private let implied: TCString.Bases = .impliedConsent

@Suite("Strings that IAB's encoder wrote") struct PublishedVectorTests {
    @Test("each section has the opt-outs that were set", arguments: Vector.all)
    private func vectors(vector: Vector) {
        reading(header(vector.id) + "~" + vector.text) { #expect($0?.optOuts == vector.optOuts) }
    }

    @Test("version 1 of the national section is read with 16 kinds of sensitive data where it has space for them")
    func longFirstVersion() {
        reading("DBABLA~BAAAAAAAQABA.QA") { #expect($0?.optOuts == .sensitiveData) }
        reading("DBABLA~BAAAAAAAAABA.QA") { #expect($0?.optOuts == []) }
        // With 12 kinds, the fields behind them are about children and the agreement.
        reading("DBABLA~BAAAAAAAUQA.QA") { #expect($0?.optOuts == []) }
    }

    @Test("sensitive data in a segment of its own may be missing, and must be whole", arguments: [25, 26, 27])
    func sensitiveSegment(id: Int) {
        reading(header(id) + "~BQAA") { #expect($0?.optOuts == []) }
        for index in 0..<8 {
            var bits = BitWriter()
            for place in 0..<8 { bits.put(place == index ? 1 : 2, 2) }
            reading(header(id) + "~BQAA." + bits.text) { #expect($0?.optOuts == .sensitiveData, "kind \(index)") }
        }
        for broken in [".", ".A", ".AA", ".wAA", ".AAA.AAA", ".A=A"] {
            reading(header(id) + "~BQAA" + broken) { #expect($0 == nil, "\(broken)") }
        }
    }

    @Test(
        "Canada's string allows purposes by express and by implied consent, in both codings of vendors",
        arguments: [
            "BPSG_8APSG_8AAyACAENGdCgf_gfgAfgfgBhADVqxGAD0AILVgAA.fHHHA4444ao",
            "BPSG_8APSG_8AAyACAENGdCgf_gfgAfgfgBgABABAAABAB4AACACAAA.fHHHA4444ao",
        ])
    func canada(text: String) {
        reading(header(5) + "~" + text) { string in
            guard let canada = string?.canada else {
                Issue.record("the string is broken")
                return
            }
            // The purposes of the first string in the encoder's tests.
            let expressed = (1...24).filter { canada.allows($0, by: express) }
            #expect(expressed == [1, 2, 3, 4, 5, 6, 13, 14, 15, 16, 17, 18])
            let purpose = expressed[0]
            #expect([12, 24, 48].allSatisfy { canada.allows(purpose, vendor: $0, by: express) })
            #expect([11, 13, 18, 30, 49].allSatisfy { !canada.allows(purpose, vendor: $0, by: express) })
            let tacit = (1...24).filter { canada.allows($0, by: implied) }
            #expect(tacit == [7, 8, 9, 10, 11, 12, 19, 20, 21, 22, 23, 24])
            #expect([18, 30].allSatisfy { canada.allows(tacit[0], vendor: $0, by: implied) })
            #expect([12, 29].allSatisfy { !canada.allows(tacit[0], vendor: $0, by: implied) })
            #expect((1...24).allSatisfy { !canada.allows($0, by: .legitimateInterest) })
        }
    }

    @Test("Canada's vendors that were not shown are denied, and so is a broken string")
    func disclosed() {
        let core = "BPSG_8APSG_8AAyACAENGdCgf_gfgAfgfgBhADVqxGAD0AILVgAA.fHHHA4444ao"
        reading(header(5) + "~" + core + ".IAGO5w") { string in
            let purpose = (1...24).first { string?.canada?.allows($0, by: express) == true }
            #expect(purpose.map { string?.canada?.allows($0, vendor: 12, by: express) } == true)
            #expect(purpose.map { string?.canada?.allows($0, vendor: 24, by: express) } == false)
        }
        for broken in ["", "B", "C" + core.dropFirst(), String(core.prefix(30)), core + ".", core + ".IAGO5w.IAGO5w", core + ".oAAA"] {
            reading(header(5) + "~" + broken) { #expect($0?.canada == nil && $0?.hasBrokenCanada == true, "\(broken)") }
        }
    }

    @Test("OneTrust's groups are read from the list, from the active groups and from the cookie")
    func oneTrust() {
        func groups(_ text: String) -> [String]? {
            Array(text.utf8).withUnsafeBufferPointer { bytes in
                OneTrustGroups(bytes).map { groups in
                    var all: [String] = []
                    groups.visit { all.append(String(decoding: $0, as: UTF8.self) + ($1 ? "+" : "-")) }
                    return all + (groups.isGlobalControl ? ["gpc"] : []) + (groups.namesGroups ? [] : ["none"])
                }
            }
        }
        #expect(groups("C0001:1,C0002:0") == ["C0001+", "C0002-"])
        #expect(groups(",C0001,C0003,") == ["C0001+", "C0003+"])
        #expect(groups("isGpcEnabled=0&groups=C0001%3A1%2cC0002%3a0&v=1") == ["C0001+", "C0002-"])
        #expect(groups("isGpcEnabled=1&datestamp=x") == ["gpc", "none"])
        #expect(groups("a=b&isGpcEnabled=&groups=C1:0") == ["C1-", "gpc"])
        for broken in ["C0001:2", "C0001:", ":1", "C0001:1,C0002", "C0001:11", "groups=C1:1&groups=C1:0", "C1:1:1", "x=&groups=C1:"] {
            #expect(groups(broken) == nil, "\(broken)")
        }
    }
}
