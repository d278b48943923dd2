// The signal `context.consent`: the object that holds most other signals, and `context`, which holds it. They state nothing themselves, and
// must be objects: nobody knows what a person has said in a `context` that is a text or a list. A `context` of null counts as missing.

internal import Events

struct ConsentObject: ConsentSignal {
    static let members = [
        MemberDeclaration("context", form: "an object", isShown: false, isFrame: true),
        MemberDeclaration("context", "consent", form: "an object", isShown: false),
    ]

    private let context: SignalMember
    private let object: SignalMember

    init(_ members: [SignalMember], _: ConsentMapCompiler) {
        context = members[0]
        object = members[1]
    }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let outer = event.slots[context.slot]
        if outer.isPresent {
            let value = outer.value(in: event.block)
            if !value.isObject, !value.isNull { reading.breaks(context) }
        }
        let slot = event.slots[object.slot]
        if slot.isPresent, !slot.value(in: event.block).isObject { reading.breaks(object) }
    }
}
