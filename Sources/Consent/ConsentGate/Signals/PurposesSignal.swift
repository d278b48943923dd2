// The signals that name purposes: `context.consent.purposes`, the `categoryPreferences` of Segment's clients, and the `consentManagement`
// of RudderStack's. Each granting member grants the purposes that it names, and no others. `deniedConsentIds` only refuses. The members are
// read in this order up to the first broken one.

internal import Events

struct PurposesSignal: ConsentSignal {
    static let members = [
        MemberDeclaration("context", "consent", "purposes", form: "a list of names or an object of true and false"),
        MemberDeclaration("context", "consent", "categoryPreferences", form: "an object of true and false"),
        MemberDeclaration("context", "consentManagement", form: "an object"),
        MemberDeclaration("context", "consentManagement", "allowedConsentIds", form: "a list of names"),
        MemberDeclaration("context", "consentManagement", "deniedConsentIds", form: "a list of names"),
    ]

    private let purposes: SignalMember
    private let preferences: SignalMember
    private let management: SignalMember
    private let allowed: SignalMember
    private let denied: SignalMember

    init(_ members: [SignalMember], _: ConsentMapCompiler) {
        purposes = members[0]
        preferences = members[1]
        management = members[2]
        allowed = members[3]
        denied = members[4]
    }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let block = event.block
        let listed = event.slots[purposes.slot]
        if listed.isPresent {
            guard reading.nameStrings(listed, block) || reading.nameFlags(listed, block) else { return reading.breaks(purposes) }
            reading.grantNamed()
        }
        let preferred = event.slots[preferences.slot]
        if preferred.isPresent {
            guard reading.nameFlags(preferred, block) else { return reading.breaks(preferences) }
            reading.grantNamed()
        }
        let object = event.slots[management.slot]
        guard object.isPresent else { return }
        guard object.value(in: block).isObject else { return reading.breaks(management) }
        let granted = event.slots[allowed.slot]
        if granted.isPresent {
            guard reading.nameStrings(granted, block) else { return reading.breaks(allowed) }
            reading.grantNamed()
        }
        let refused = event.slots[denied.slot]
        if refused.isPresent {
            guard reading.nameStrings(refused, block) else { return reading.breaks(denied) }
            reading.refuseNamed()
        }
    }
}
