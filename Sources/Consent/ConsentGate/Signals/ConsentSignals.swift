// The one list of the signals of consent. The gate reads them in this order, `explain` and reports name their members in this order, and
// `map` of the consent section has the keys of those whose meaning is configured.

public enum ConsentSignals {
    /// Calls the visitor with each signal in turn. The types are known here, so a reader of events calls each signal directly.
    @inline(__always)
    static func visit<Visitor: ConsentSignalVisitor & ~Copyable>(_ visitor: inout Visitor) {
        visitor.visit(ConsentObject.self)
        visitor.visit(LevelSignal.self)
        visitor.visit(PurposesSignal.self)
        visitor.visit(GlobalPrivacyControl.self)
        visitor.visit(TCFSignal.self)
        visitor.visit(GPPSignal.self)
        visitor.visit(GoogleSignal.self)
        visitor.visit(OneTrustSignal.self)
        visitor.visit(MembersSignal.self)
    }
}
