// The signal `context.consent`: the object that holds most other signals. It states nothing itself, and must be an object.

internal import Events

struct ConsentObject: ConsentSignal {
    static let members = [MemberDeclaration("context", "consent", form: "an object", isShown: false)]

    private let object: SignalMember

    init(_ members: [SignalMember], _: ConsentMapCompiler) { object = members[0] }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let slot = event.slots[object.slot]
        if slot.isPresent, !slot.value(in: event.block).isObject { reading.breaks(object) }
    }
}
