import Events
import Foundation
import Plans
import Seeded
import TestSupport
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Judging
@testable import Models

private let levels: [(name: String, purposes: [String])] = [
    ("none", []), ("essential", ["operations"]), ("standard", ["operations", "analytics"]),
    ("detailed", ["operations", "analytics", "research"]),
]

private func section(_ change: (inout ConsentPlan) -> Void = { _ in }) -> ConsentPlan {
    var consent = ConsentPlan()
    consent.levels = levels.map { .init(name: $0.name, purposes: $0.purposes) }
    consent.subject = [path("userId"), path("anonymousId")]
    change(&consent)
    return consent
}

/// Records in memory, and a gate that reads them.
private struct RecordedGate {
    let records = ConsentRecords()
    var consent = section()

    func record(_ id: String, _ terms: ConsentTerms...) {
        var text = id
        let (low, high) = text.withUTF8 { SipKey(Array(0..<16)).hash128(ByteRun(base: $0.baseAddress!, count: $0.count)) }
        records.set(SubjectKey(high: high, low: low), terms)
    }

    /// Returns the levels, from the lowest, and then the purposes whose routes admit the event.
    func passes(_ line: String) -> [String] {
        let names = levels.map(\.name) + ["operations", "analytics", "research"]
        return zip(names, verdicts(line)).filter { $0.1 == .admitted }.map(\.0)
    }

    func verdicts(_ line: String) -> [Verdict] {
        var plan = plan()
        plan.consent = consent
        plan.routes =
            levels.indices.map { level in route { $0.consent = ConsentDemand(level: level) } }
            + ["operations", "analytics", "research"].map { purpose in route { $0.consent = ConsentDemand(level: 0, purposes: [purpose]) } }
        return JudgeFixture(plan, records: records).verdicts(line)
    }
}

@Suite("Consent on record") struct RecordsTests {
    @Test("consent on record admits the subject's events without signals, and no other subject's events")
    func onRecord() {
        let gate = RecordedGate()
        gate.record("ann", ConsentTerms(level: "standard"))
        #expect(gate.passes(#"{"userId":"ann"}"#) == ["none", "essential", "standard", "operations", "analytics"])
        #expect(gate.passes(#"{"userId":"bob"}"#) == ["none"])
        #expect(gate.verdicts(#"{"userId":"bob"}"#)[1] == .denied(.unknown))
        #expect(gate.passes(#"{"event":"e"}"#) == ["none"])
    }

    @Test("the signals of an event can only restrict the consent on record")
    func narrowed() {
        let gate = RecordedGate()
        gate.record("ann", ConsentTerms(level: "standard"))
        func passes(_ context: String) -> [String] { gate.passes(#"{"userId":"ann","context":\#(context)}"#) }
        #expect(passes(#"{"consent":{"level":"essential"}}"#) == ["none", "essential", "operations"])
        #expect(passes(#"{"consent":{"level":"detailed"}}"#) == ["none", "essential", "standard", "operations", "analytics"])
        #expect(passes(#"{"consent":{"purposes":["research","analytics"]}}"#) == ["none", "analytics"])
        #expect(passes(#"{"consentManagement":{"deniedConsentIds":["analytics"]}}"#) == ["none", "essential", "operations"])
        #expect(passes(#"{"gpc":true}"#) == ["none"])
        #expect(passes(#"{"consent":{"level":"nonsense"}}"#) == ["none"])
    }

    @Test("the strictest record of the event's subjects holds, and consent is unknown only if all of them are unknown")
    func strictest() {
        let gate = RecordedGate()
        gate.record("ann", ConsentTerms(level: "detailed"))
        gate.record("phone", ConsentTerms(level: "standard", denied: ["operations"]))
        #expect(gate.passes(#"{"userId":"ann","anonymousId":"phone"}"#) == ["none", "analytics"])
        #expect(gate.passes(#"{"userId":"ann","anonymousId":"new"}"#).contains("detailed"))
        #expect(gate.passes(#"{"userId":"new","anonymousId":"phone"}"#) == ["none", "analytics"])
        gate.record("tied", ConsentTerms(level: "detailed"), ConsentTerms(level: "essential"))
        #expect(gate.passes(#"{"userId":"tied"}"#) == ["none", "essential", "operations"])
    }

    @Test("if levels have no purposes, the lower level of two subjects holds, and the purposes that both grant")
    func strictestLevel() {
        var gate = RecordedGate()
        gate.consent = section { $0.levels = levels.map { .init(name: $0.name, purposes: nil) } }
        gate.record("ann", ConsentTerms(level: "detailed", granted: ["analytics", "research"]))
        gate.record("phone", ConsentTerms(level: "essential", granted: ["analytics"]))
        for line in [#"{"userId":"ann","anonymousId":"phone"}"#, #"{"userId":"phone","anonymousId":"ann"}"#] {
            #expect(gate.passes(line) == ["none", "essential", "analytics"])
        }
        gate.record("tied", ConsentTerms(level: "essential"), ConsentTerms(level: "standard"))
        #expect(gate.passes(#"{"userId":"tied"}"#) == ["none", "essential"])
    }

    @Test("the strictest of three records holds, even if the third was never compiled before")
    func third() {
        var gate = RecordedGate()
        gate.consent = section { $0.subject = ["userId", "anonymousId", "groupId"].map { path($0) } }
        gate.record("ann", .withdrawn)
        gate.record("phone", .withdrawn)
        gate.record("club", ConsentTerms(level: "standard"))
        #expect(gate.passes(#"{"userId":"ann","anonymousId":"phone","groupId":"club"}"#) == ["none"])
    }

    @Test("a withdrawal denies every route that demands something, whatever else is stated or assumed")
    func refused() {
        var gate = RecordedGate()
        gate.consent = section { $0.unknown = .assume(3) }
        gate.record("ann", .withdrawn)
        gate.record("phone", ConsentTerms(level: "detailed"))
        #expect(gate.passes(#"{"userId":"ann"}"#) == ["none"])
        #expect(gate.passes(#"{"userId":"ann","anonymousId":"phone","context":{"consent":{"level":"detailed"}}}"#) == ["none"])
        #expect(gate.passes(#"{"userId":"bob"}"#).count == 7)
    }

    @Test("consent to an old version does not count, but its refusals do")
    func versions() {
        var gate = RecordedGate()
        gate.consent = section {
            $0.minimumVersion = "2025-10"
            $0.unknown = .assume(2)
        }
        gate.record("old", ConsentTerms(level: "detailed", version: "2025-9"))
        gate.record("none", ConsentTerms(level: "detailed"))
        gate.record("new", ConsentTerms(level: "detailed", version: "2025-10"))
        gate.record("refuser", ConsentTerms(level: "detailed", denied: ["analytics"], version: "2024-1"))
        for id in ["old", "none"] { #expect(!gate.passes(#"{"userId":"\#(id)"}"#).contains("research")) }
        #expect(gate.passes(#"{"userId":"new"}"#).contains("research"))
        #expect(gate.passes(#"{"userId":"refuser"}"#) == ["none", "essential", "operations"])
    }

    @Test("an unknown level on record denies, and so do records that cannot be read")
    func unreadable() {
        let gate = RecordedGate()
        gate.record("ann", ConsentTerms(level: "of an older file"))
        #expect(gate.verdicts(#"{"userId":"ann"}"#)[1] == .denied(.unreadable))
        gate.record("bob", ConsentTerms(level: "detailed"))
        gate.records.isUnreadable = true
        #expect(gate.verdicts(#"{"userId":"bob"}"#)[1] == .denied(.unreadable))
        #expect(gate.verdicts(#"{"userId":"bob"}"#)[0] == .admitted)
        gate.records.isUnreadable = false
        #expect(gate.passes(#"{"userId":"bob"}"#).count == 7)
    }

    @Test("a clock behind the records denies with its own reason, and routes that demand nothing still admit")
    func clock() {
        let gate = RecordedGate()
        gate.record("bob", ConsentTerms(level: "detailed"))
        gate.records.isClockBehind = true
        #expect(gate.verdicts(#"{"userId":"bob"}"#)[1] == .denied(.clock))
        #expect(gate.verdicts(#"{"userId":"never seen"}"#)[1] == .denied(.clock))
        #expect(gate.verdicts(#"{"userId":"bob"}"#)[0] == .admitted)
        gate.records.isUnreadable = true
        #expect(gate.verdicts(#"{"userId":"bob"}"#)[1] == .denied(.unreadable), "damage is reported before the clock")
        gate.records.isClockBehind = false
        #expect(gate.records.isUnreadable, "it is still damaged")
        gate.records.isUnreadable = false
        #expect(gate.passes(#"{"userId":"bob"}"#).count == 7)
    }

    @Test("version names are ordered by their numbers, then by their bytes")
    func order() {
        let rising = ["", "1", "1.0", "1.9", "1.10", "2", "2025-03", "2025-3-1", "2025-10", "a", "a1", "b"]
        for (i, a) in rising.enumerated() {
            for (j, b) in rising.enumerated() where a != b && ![a, b].contains("2025-03") {
                #expect(NaturalOrder.precedes(Array(a.utf8), Array(b.utf8)) == (i < j), "\(a) \(b)")
            }
        }
        #expect(!NaturalOrder.precedes(Array("2025-03".utf8), Array("2025-3".utf8)))
    }

    // MARK: - Comparison with a simple model

    @Test("the gate agrees with a simple model for random subjects and signals", arguments: 0..<rounds(20) as Range<UInt64>)
    func model(seed: UInt64) {
        var chance = Seeded(state: seed)
        let gate = RecordedGate()
        let purposes = ["operations", "analytics", "research"]
        func some() -> [String] { purposes.filter { _ in Bool.random(using: &chance) } }
        var recorded: [String: [ConsentTerms]] = [:]
        for id in ["a", "b", "c", "d"] where Bool.random(using: &chance) {
            recorded[id] = (0..<Int.random(in: 1...3, using: &chance)).map { _ in
                Int.random(in: 0..<9, using: &chance) == 0
                    ? .withdrawn
                    : ConsentTerms(
                        level: Bool.random(using: &chance) ? levels.randomElement(using: &chance)!.name : nil, granted: some(),
                        denied: Int.random(in: 0..<3, using: &chance) == 0 ? some() : [])
            }
        }
        for (id, terms) in recorded {
            gate.records.set(key(id), terms)
        }
        for _ in 0..<50 {
            let ids = ["a", "b", "c", "d", "e"].shuffled(using: &chance).prefix(2)
            let cap = Bool.random(using: &chance) ? some() : nil
            let signal = cap.map { #","context":{"consent":{"purposes":["# + $0.map { "\"\($0)\"" }.joined(separator: ",") + "]}}" } ?? ""
            let line = #"{"userId":"\#(ids[0])","anonymousId":"\#(ids[1])"\#(signal)}"#

            let known = ids.compactMap { recorded[$0] }.flatMap { $0 }
            var granted = Set(purposes)
            for terms in known {
                let ofLevel = levels.first { $0.name == terms.level }?.purposes ?? []
                granted.formIntersection(terms.isWithdrawn ? [] : Set(ofLevel + terms.granted).subtracting(terms.denied))
            }
            if let cap { granted.formIntersection(cap) }
            if known.isEmpty, cap == nil { granted = [] }
            let passing = levels.last { granted.isSuperset(of: $0.purposes) }!.name
            let level = levels.firstIndex { $0.name == passing }!
            #expect(gate.passes(line) == levels[...level].map(\.name) + purposes.filter(granted.contains), "\(line) \(known)")
        }
    }

    private func key(_ id: String) -> SubjectKey {
        var text = id
        let (low, high) = text.withUTF8 { SipKey(Array(0..<16)).hash128(ByteRun(base: $0.baseAddress!, count: $0.count)) }
        return SubjectKey(high: high, low: low)
    }

    @Test("each of many subjects is found while the table grows and other threads read")
    func growth() {
        let records = ConsentRecords()
        let levels = ["none", "essential", "standard"]
        @Sendable func key(_ number: Int) -> SubjectKey { SubjectKey(high: UInt64(number), low: UInt64(number / 3) &* 0x9e37_79b9) }
        // A reader sees no record of a subject, or one that was written for it.
        let done = DispatchSemaphore(value: 0)
        let readers = (0..<2).map { _ in
            Thread {
                defer { done.signal() }
                for round in 0..<20_000 {
                    let number = records.number(of: key(round % 5000))
                    if number > ConsentRecords.nothing { #expect(records.terms(number).first?.level != nil) }
                }
            }
        }
        for reader in readers { reader.start() }
        for number in 0..<5000 { records.set(key(number), [ConsentTerms(level: levels[number % 3])]) }
        for number in stride(from: 0, to: 5000, by: 7) { records.set(key(number), number % 2 == 0 ? [] : [ConsentTerms(level: "none")]) }
        for _ in readers { done.wait() }
        #expect(records.count == 5000)
        for number in 0..<5000 {
            let level = number % 7 > 0 ? levels[number % 3] : number % 2 == 0 ? nil : "none"
            #expect(records.terms(records.number(of: key(number))).first?.level == level)
        }
        #expect(records.number(of: key(5001)) == 0)
    }
}
