// The signal `context.consent.level`: the name of a level of the plan. It limits the level, and grants the purposes of that level and no
// others.

internal import Events

struct LevelSignal: ConsentSignal {
    static let members = [MemberDeclaration("context", "consent", "level", form: "the name of a level")]

    private let level: SignalMember

    init(_ members: [SignalMember], _: ConsentMapCompiler) { level = members[0] }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let slot = event.slots[level.slot]
        guard slot.isPresent else { return }
        guard let name = reading.text(slot, in: event.block), let index = reading.rules.level(name) else { return reading.breaks(level) }
        reading.limit(to: index)
    }
}
