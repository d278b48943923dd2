// What an event of the stream states for the ledger, how a client library writes it, and what it does to the promise.

import Encoding
import Platform
import Queueing

enum Statement: Equatable {
    case none
    case state(level: Int?, granted: [String], denied: [String])
    case refuse([String])
    /// Nil means everything.
    case withdraw([String]?)
    /// The preferences that a consent platform writes: each purpose, and if it is granted.
    case preferences([String: Bool])
    case alias(previous: String)
    case identify, reset

    var concernsTies: Bool {
        switch self {
        case .alias, .identify, .reset: true
        default: false
        }
    }

    /// True if only a route takes the event that names its type.
    var isForLedger: Bool {
        switch self {
        case .state, .refuse, .withdraw, .reset: true
        default: false
        }
    }

    init(_ random: inout RandomSource) {
        func roll(_ sides: UInt64) -> Int { Int(random.next() % sides) }
        func some() -> [String] { Words.purposes.filter { _ in roll(3) == 0 } }
        func one() -> [String] { [Words.purposes[roll(3)]] }
        switch roll(14) {
        case 0..<3: self = .state(level: roll(4), granted: some(), denied: roll(3) == 0 ? one() : [])
        case 3: self = .state(level: nil, granted: some(), denied: roll(3) == 0 ? one() : [])
        case 4: self = .refuse(one())
        case 5..<8: self = .withdraw(nil)
        case 8: self = .withdraw(one())
        case 9: self = .preferences(Dictionary(Words.purposes.map { ($0, roll(3) > 0) }) { first, _ in first })
        case 10: self = .alias(previous: Words.people[roll(UInt64(Words.people.count))])
        case 11, 12: self = .identify
        default: self = .reset
        }
    }

    /// The members of the event that make the statement, each after a comma.
    var members: String {
        func list(_ names: [String]) -> String { "[\(names.map { "\"\($0)\"" }.joined(separator: ","))]" }
        func own(_ consent: String) -> String { ",\"type\":\"consent\",\"consent\":{\(consent)}" }
        switch self {
        case .none: return ""
        case .state(let level, let granted, let denied):
            var members = level.map { ["\"level\":\"\(Words.levels[$0])\""] } ?? []
            if level == nil || !granted.isEmpty { members.append("\"granted\":\(list(granted))") }
            if !denied.isEmpty { members.append("\"denied\":\(list(denied))") }
            return own(members.joined(separator: ","))
        case .refuse(let purposes): return own("\"denied\":\(list(purposes))")
        case .withdraw(nil): return own("\"withdrawn\":true")
        case .withdraw(let purposes?): return own("\"withdrawn\":\(list(purposes))")
        case .preferences(let purposes):
            let named = purposes.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
            return ",\"type\":\"track\",\"event\":\"Segment Consent Preference Updated\","
                + "\"context\":{\"consent\":{\"categoryPreferences\":{\(named)}}}"
        case .alias(let previous): return ",\"type\":\"alias\",\"previousId\":\"\(previous)\""
        case .identify: return ",\"type\":\"identify\""
        case .reset: return ",\"type\":\"reset\""
        }
    }

    static func text(of time: Int64) -> String {
        var text: [UInt8] = []
        TimeText.write(time, to: .exact) { text.append($0) }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A withdrawal that must have a receipt.
struct ExpectedReceipt {
    var person: Set<String>
    /// It is nil if all purposes were withdrawn.
    var purposes: [String]?
    var id: String
    /// The time of the decision, which can be earlier than the receipt.
    var decided: Int64
}

extension Promise {
    /// Does what the event states, at this time. Returns the withdrawals that must have a receipt, in their order. If its source may not
    /// write, only refusals count, and nothing is destroyed. `assumes` is true if a level is assumed for unknown subjects.
    mutating func hear(_ event: Event, mayWrite: Bool, at now: Int64, assumes: Bool) -> [ExpectedReceipt] {
        let ids = event.ids
        switch event.statement {
        case .none: return []
        case .alias(let previous):
            if mayWrite, let user = event.members["userId"], user != previous { tie([previous, user]) }
        case .identify:
            if mayWrite, let user = event.members["userId"], let device = event.members["anonymousId"], user != device {
                tie([user, device])
            }
        case .reset:
            if mayWrite, let id = event.members["anonymousId"] ?? event.members["userId"] { untie(id) }
        case .withdraw(nil):
            for id in ids { set(id, .withdrawn(at: time(of: event, now, after: said[id]?.decided))) }
            return mayWrite ? ids.map { ExpectedReceipt(person: person($0), purposes: nil, id: $0, decided: said[$0]?.decided ?? now) } : []
        case .withdraw(let purposes?):
            let named = refuse(event, now, assumes: assumes) { ($0 ?? LedgerRecord()).refusing(Set(purposes)) }
            return mayWrite ? named.map { ExpectedReceipt(person: person($0), purposes: purposes, id: $0, decided: now) } : []
        case .refuse(let purposes): _ = refuse(event, now, assumes: assumes) { ($0 ?? LedgerRecord()).refusing(Set(purposes)) }
        case .state(let level, let granted, let denied):
            state(level, granted: Set(granted), denied: Set(denied), by: event, mayWrite: mayWrite, at: now, assumes: assumes)
        case .preferences(let all):
            let granted = Set(all.filter(\.value).keys)
            state(
                nil, granted: granted, denied: Set(all.keys).subtracting(granted), by: event, mayWrite: mayWrite, at: now, assumes: assumes)
        }
        return []
    }

    /// The time of a decision. A refusal is never earlier than the decision before.
    private func time(of event: Event, _ now: Int64, after last: Int64?) -> Int64 {
        min(event.time.map { max($0, last ?? .min) } ?? now, now)
    }

    private mutating func state(
        _ level: Int?, granted: Set<String>, denied: Set<String>, by event: Event, mayWrite: Bool, at now: Int64, assumes: Bool
    ) {
        let granted = granted.subtracting(denied)
        // Somebody who is known only in part may refuse, and may not grant.
        if event.hasBrokenID, level != nil || !granted.isEmpty { return }
        let grants = level != nil || !granted.isEmpty
        if mayWrite {
            for id in event.ids {
                let decided = grants ? min(event.time ?? now, now) : time(of: event, now, after: said[id]?.decided)
                set(id, .terms(level: level, granted: granted, denied: denied, at: decided))
            }
            return
        }
        // Purposes that a grant does not name are refused.
        let refused = grants ? Set(Words.purposes).subtracting(Words.purposes(of: level ?? 0)).subtracting(granted).union(denied) : denied
        _ = refuse(event, now, assumes: assumes) { known in
            guard let known else {
                let level = level == 0 && granted.isEmpty ? level : nil
                return refused.isEmpty && level == nil ? nil : .terms(level: level, granted: [], denied: refused, at: 0)
            }
            if known.isWithdrawn { return nil }
            let lower = known.level.map { min($0, level ?? $0) }
            return .terms(level: lower, granted: known.named, denied: known.denied.union(refused), at: 0)
        }
    }

    /// Lowers the records of the event's ids. An id without a record lowers those of the ids tied to it. If there are none, it gets a record
    /// when no id of the event has one, or when a level is assumed for it. Returns the ids that were lowered, in the order of the ledger.
    private mutating func refuse(_ event: Event, _ now: Int64, assumes: Bool, _ body: (LedgerRecord?) -> LedgerRecord?) -> [String] {
        var unknown: [String] = []
        var named: [String] = []
        for id in event.ids {
            let known = said[id] == nil ? person(id).filter { said[$0] != nil } : [id]
            if known.isEmpty { unknown.append(id) } else { named.append(id) }
            for id in known {
                guard let old = said[id], var lowered = body(old), lowered.undated != old.undated else { continue }
                lowered.decided = min(event.time.map { max($0, old.decided) } ?? now, now)
                set(id, lowered)
            }
        }
        guard assumes || unknown.count == event.ids.count else { return named }
        for id in unknown {
            guard var lowered = body(nil) else { continue }
            lowered.decided = min(event.time ?? now, now)
            set(id, lowered)
            named.append(id)
        }
        return named
    }
}
