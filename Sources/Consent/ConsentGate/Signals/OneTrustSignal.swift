// The signal `context.consent.onetrust`: the groups of OneTrust's consent platform, as the list of groups or as the value of its cookie. It
// grants the purposes whose groups are active, and no others. A cookie without groups states nothing about purposes.

internal import Events
internal import Signals

struct OneTrustSignal: ConsentSignal {
    static let members = [
        MemberDeclaration(
            "context", "consent", "onetrust", form: "OneTrust's groups, such as \"C0001:1,C0002:0\", or the value of OptanonConsent")
    ]

    private let groups: SignalMember

    init(_ members: [SignalMember], _: ConsentMapCompiler) { groups = members[0] }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let slot = event.slots[groups.slot]
        guard slot.isPresent else { return }
        guard let text = reading.text(slot, in: event.block) else { return reading.breaks(groups) }
        // The platform leaves an empty string before the person was asked.
        if text.count == 0 { return }
        guard let groups = OneTrustGroups(text.bytes) else { return reading.breaks(groups) }
        if groups.isGlobalControl { reading.turnOnPrivacyControl() }
        guard groups.namesGroups else { return }
        reading.clearNamed()
        // First the active groups, then the inactive ones: a purpose that has both is not granted.
        groups.visit { name, isActive in if isActive { reading.name(text: name) } }
        groups.visit { name, isActive in if !isActive { reading.removeName(text: name) } }
        reading.grantNamed()
    }
}
