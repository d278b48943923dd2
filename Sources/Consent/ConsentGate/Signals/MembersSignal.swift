// The signals of `map.members`: members of the user's own, such as the status of App Tracking Transparency or a switch in the settings of an
// app. By its value such a member grants or denies the purposes that the map gives it, and states nothing about others. A missing member, or
// null, states nothing.

internal import Events
internal import Matching
internal import Plans

struct MembersSignal: ConsentSignal {
    static let members: [MemberDeclaration] = []

    private struct Rule: BitwiseCopyable {
        /// The bit of the purpose.
        let purpose: Int
        let slot: Int
        /// Is true for the values that grant the purpose.
        let grants: MatchRule
        /// The number of the member, for reports.
        let member: SignalMember
    }

    private let rules: UnsafeBufferPointer<Rule>

    init(_: [SignalMember], _ map: ConsentMapCompiler) {
        let paths = map.plan.memberPaths
        rules = map.store.list(
            map.plan.members.flatMap { entry in
                entry.meaning.map { match in
                    let slot = map.slot(match.path)
                    guard let number = paths.firstIndex(of: match.path) else { preconditionFailure("a member of the map has no number") }
                    return Rule(
                        purpose: map.bit(of: entry.purpose), slot: slot, grants: MatchRule(match, slot: slot, in: map.store),
                        member: SignalMember(slot: slot, index: ConsentMember.all.count + number))
                }
            })
    }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        for rule in rules {
            let slot = event.slots[rule.slot]
            guard slot.isPresent else { continue }
            let value = slot.value(in: event.block)
            if value.isNull { continue }
            guard !value.isObject, value.base[0] != UInt8(ascii: "[") else { return reading.breaks(rule.member) }
            reading.cover(purpose: rule.purpose, isGranted: rule.grants.matches(event, &reading.decoder))
        }
    }
}
