// The signal `context.consent.level`: the name of a level of the plan, or a list of levels, of which the lowest holds. It limits the level,
// and grants the purposes of that level and no others.

internal import Events

struct LevelSignal: ConsentSignal {
    static let members = [MemberDeclaration("context", "consent", "level", form: "the name of a level, or a list of such names")]

    private let level: SignalMember

    init(_ members: [SignalMember], _: ConsentMapCompiler) { level = members[0] }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let slot = event.slots[level.slot]
        guard slot.isPresent else { return }
        guard event.block[Int(slot.start)] == UInt8(ascii: "[") else {
            guard let name = reading.text(slot, in: event.block), let index = reading.rules.level(name) else {
                return reading.breaks(level)
            }
            return reading.limit(to: index)
        }
        guard let lowest = reading.lowestLevel(in: event.block + Int(slot.start)) else { return reading.breaks(level) }
        reading.limit(to: lowest)
    }
}
