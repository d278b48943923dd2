// An event as the module of a provider gets it, for commands that ask the module what it would send. The event is not masked. What the
// module makes of it must pass through `masked` before it is shown. As in a router, the second check of consent stands before the hand-over.

internal import Admission
internal import ConsentGate
internal import Judging
internal import Ledger
internal import Plans
internal import Workers

extension Explanation {
    public struct HandOver: Sendable {
        public let provider: String
        /// The line of the event, without its newline.
        public let line: [UInt8]
        /// The hashes in it, as they are written, in quotes.
        let hashes: Set<[UInt8]>

        /// Returns the bytes with a word in the place of each hash of the event, wherever the module has written it.
        public func masked(_ bytes: [UInt8]) -> [UInt8] {
            // The longest one first: one hash may begin another.
            let texts = hashes.map { Array($0.dropFirst().dropLast()) }.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
            guard !texts.isEmpty else { return bytes }
            var shown: [UInt8] = []
            shown.reserveCapacity(bytes.count)
            var at = 0
            while at < bytes.count {
                if let text = texts.first(where: { bytes[at...].starts(with: $0) }) {
                    shown += Array(Mask.digest.utf8)
                    at += text.count
                } else {
                    shown.append(bytes[at])
                    at += 1
                }
            }
            return shown
        }
    }

    /// Returns the values of these members that are hashes, as they are written.
    static func hashes(_ hashed: [HashedMember], _ members: EventMembers) -> Set<[UInt8]> {
        Set(hashed.compactMap { one in members[one.path].flatMap { one.isHash($0) ? $0 : nil } })
    }
}

extension Explanation {
    /// Adds to each route that hands the event over what the second check of consent says now. If it does not let the event pass, no module
    /// gets it.
    public mutating func addSecondCheck() {
        for index in routes.indices where !routes[index].handOvers.isEmpty {
            let why: String
            switch routes[index].secondAnswer {
            case nil: why = "no ledger is kept, so nothing is asked again at the hand-over"
            case .pass: why = "asked again at the hand-over: what is on record lets it pass now"
            case .refused: why = "asked again at the hand-over: refused, so it is destroyed and no module gets it"
            case .unreadable: why = "asked again at the hand-over: the records cannot be read, so it waits"
            }
            routes[index].decisions.append(Decision(stage: .consent, why: why))
            if routes[index].secondAnswer ?? .pass != .pass { routes[index].handOvers = [] }
        }
    }

    /// Asks the second check about the event, as the lane of the route's first provider holds it. Returns nil if no ledger is kept, since a
    /// router has no second check then, or if the route did not admit the event.
    static func secondAnswer(
        of route: Int, _ worker: borrowing Worker, by plan: Plan, _ ruleset: Ruleset, _ levels: RunNames, _ ledger: LedgerView?
    ) -> SecondCheck.Answer? {
        guard let ledger, let provider = plan.routes[route].providers.first else { return nil }
        let (entries, subjects) = (worker.parcels[provider].entries, worker.parcels[provider].subjects)
        guard let place = entries.firstIndex(where: { Int($0.route) == route }) else { return nil }
        let check = SecondCheck(ledger.records, levels: levels)
        check.adopt(ruleset.consent)
        for withdrawal in ledger.withdrawals { check.ban(withdrawal) }
        let answer = check.check(entries, subjects)
        guard case .refused(let refused) = answer else { return answer }
        return refused.contains(place) ? .refused([place]) : .pass
    }
}
