// The part of the judge for events that change the consent on record while it works. It reads their statements, applies them at once, and
// can judge a block again as if for the first time.

public import Admission
public import ConsentGate
public import Events
internal import Sampling

extension Judge {
    /// Returns the kind of statement that the event makes to the ledger.
    @inline(__always) public mutating func statement(_ event: ScannedEvent) -> ConsentStatement { statement?.statement(event) ?? .none }

    /// Returns the action that the statement asks for.
    public mutating func action(_ event: ScannedEvent, _ statement: ConsentStatement) -> ConsentAction {
        self.statement?.action(event, statement) ?? ConsentAction(act: .broken("no ledger is kept"), ids: [])
    }

    /// Returns the keys of the two ids that an event ties. Returns nil if the event does not carry both.
    public mutating func tiedSubjects(of event: ScannedEvent) -> (SubjectKey, SubjectKey)? {
        statement?.tiedSubjects(of: event, under: rules.subjectKey)
    }

    /// Begins a block that may be judged again. The next event is its first.
    public mutating func beginBlock() {
        sampling.decisions.isKeeping = true
        sampling.decisions.begin(after: context.turn)
        gate.forgetAsked()
        gate.forgetForeseen()
    }

    /// Begins the same block again. Limits and targets repeat their answers of the first time.
    public mutating func beginBlockAgain() {
        sampling.decisions.beginAgain(after: context.turn)
        gate.forgetAsked()
        gate.forgetForeseen()
    }

    /// Returns true if the verdicts on the block may depend on the record of the subject.
    public func hasAsked(for key: SubjectKey) -> Bool { gate.hasAsked(for: key) }

    /// Applies these terms to the subject from the next event on, for this judge alone, until they are on record.
    public mutating func foresee(_ key: SubjectKey, _ terms: [ConsentTerms]) { gate.foresee(key, terms) }

    /// Applies only the consent on record from the next event on.
    public mutating func forgetForeseen() { gate.forgetForeseen() }
}
