// What an event says about consent besides its level: the signals of other parties, and ids and contexts that cannot be used. The model
// knows the meaning of each text, and parses none.

import Platform
import Queueing

struct Signals: Equatable {
    /// The purposes that the event grants, and no others. It is nil if no signal covers all purposes.
    var own: Set<String>?
    /// The purposes that the event refuses, whatever else it says.
    var refused: Set<String> = []
    /// What the event says about single purposes.
    var single: [String: Bool] = [:]
    /// True if a part of it cannot be read, so that nobody knows what the person has said.
    var isBroken = false
    /// The members of the event, each after a comma, and those of `context` and of `context.consent`.
    var members = ""
    var context: [String] = []
    var consent: [String] = []

    /// The section of the configuration that gives the signals their meaning. With the planted bug `sections` it knows no GPP strings.
    static func section(_ plant: Plant?) -> String {
        let gpp = plant == .sections ? "" : "\"gpp\":{\"marketing\":[\"sensitive_data\"]},"
        return """
            "gpc":["marketing"],
             "map":{\(gpp)"categories":{"operations":["C0001"],"analytics":["C0002"],"marketing":["C0004"]},
             "members":{"analytics":{"tracking":["yes"]}}},
            """
    }

    mutating func grant(_ purposes: Set<String>) { own = own.map { $0.intersection(purposes) } ?? purposes }

    /// Adds one of the signals.
    mutating func add(_ random: inout RandomSource) {
        func roll(_ sides: UInt64) -> Int { Int(random.next() % sides) }
        switch roll(6) {
        case 0:
            context.append("\"gpc\":true")
            refused.insert("marketing")
        case 1:
            // The fourteenth of sixteen kinds of sensitive data is opted out.
            consent.append("\"gpp\":\"DBABLA~BAAAAAAAQABA.QA\"")
            refused.insert("marketing")
        case 2:
            let active = Words.purposes.map { _ in roll(3) > 0 }
            let groups = zip(["C0001", "C0002", "C0004"], active).map { "\($0):\($1 ? 1 : 0)" }.joined(separator: ",")
            consent.append("\"onetrust\":\"\(groups)\"")
            grant(Set(zip(Words.purposes, active).filter(\.1).map(\.0)))
        case 3..<5:
            let grants = roll(2) == 0
            members += ",\"tracking\":\"\(grants ? "yes" : "no")\""
            single["analytics"] = grants
        default:
            consent.append("\"gpp\":\"DBABLA~B\"")
            isBroken = true
        }
    }

    /// The text of `context` with a comma before it, or an empty text.
    var text: String {
        let all = context + (consent.isEmpty ? [] : ["\"consent\":{\(consent.joined(separator: ","))}"])
        return members + (all.isEmpty ? "" : ",\"context\":{\(all.joined(separator: ","))}")
    }

    /// Values of an id that cannot be used.
    static let brokenIDs = ["[\"u1\"]", "{\"id\":\"u1\"}", "42.0", "true"]

    /// Returns what is allowed of these purposes. `known` is what is on record, nil for unknown subjects; `assumed` is what holds for them.
    func allowed(_ known: Set<String>?, assumed: Set<String>) -> Set<String> {
        if isBroken { return [] }
        var allowed = known ?? own ?? assumed.union(single.filter(\.value).keys)
        if let own { allowed.formIntersection(own) }
        return allowed.subtracting(refused).subtracting(single.filter { !$0.value }.keys)
    }

    /// True if the event itself grants something, or denies single purposes. Then nobody waits for an answer.
    var decides: Bool { own != nil || !single.isEmpty || isBroken }
}
