// The signal `context.gpc`: Global Privacy Control. True refuses the purposes of `gpc` in the consent section; it grants nothing. A GPP
// string can state the same.

internal import Events

struct GlobalPrivacyControl: ConsentSignal {
    static let members = [MemberDeclaration("context", "gpc", form: "true or false", isFalseSilent: true)]

    private let gpc: SignalMember

    init(_ members: [SignalMember], _: ConsentMapCompiler) { gpc = members[0] }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let slot = event.slots[gpc.slot]
        guard slot.isPresent else { return }
        let value = slot.value(in: event.block)
        if value.isTrue { return reading.turnOnPrivacyControl() }
        if !value.isFalse { reading.breakPrivacyControl(gpc) }
    }
}
