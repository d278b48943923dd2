// What a judge does where events of the stream change what is on record while it works: it hears what they say, goes by it at once, and
// can judge a block again as if for the first time.

public import Admission
public import ConsentGate
public import Events
internal import Sampling

extension Judge {
    /// In which way the event speaks to the ledger.
    @inline(__always) public mutating func statement(_ event: ScannedEvent) -> ConsentStatement { statement?.statement(event) ?? .none }

    /// What it says.
    public mutating func action(_ event: ScannedEvent, _ statement: ConsentStatement) -> ConsentAction {
        self.statement?.action(event, statement) ?? ConsentAction(act: .broken("no ledger is kept"), ids: [])
    }

    /// The keys of the two ids that an event ties; nil: it does not carry both.
    public mutating func tiedSubjects(of event: ScannedEvent) -> (SubjectKey, SubjectKey)? {
        statement?.tiedSubjects(of: event, under: rules.subjectKey)
    }

    /// The next event is the first of a block that may be judged again.
    public mutating func beginBlock() {
        sampleDecisions.isKeeping = true
        sampleDecisions.begin(after: turn)
        gate.forgetAsked()
        gate.forgetForeseen()
    }

    /// The next event is the first of the same block again: limits go by what they said of its events before.
    public mutating func beginBlockAgain() {
        sampleDecisions.beginAgain(after: turn)
        gate.forgetAsked()
        gate.forgetForeseen()
    }

    /// Whether the verdicts on the block may hang on what is on record of the subject.
    public func hasAsked(for key: SubjectKey) -> Bool { gate.hasAsked(for: key) }

    /// From the next event on this holds of the subject, for this judge alone, until it is on record.
    public mutating func foresee(_ key: SubjectKey, _ terms: [ConsentTerms]) { gate.foresee(key, terms) }

    /// From the next event on only what is on record holds.
    public mutating func forgetForeseen() { gate.forgetForeseen() }
}
