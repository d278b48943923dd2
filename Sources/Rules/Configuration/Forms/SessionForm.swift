// The form of a route's `session`: an id for each subject, which changes after an idle time.

internal import Events
internal import FormReading
internal import Plans

enum SessionForm {
    static let session = Form<Draft>.object(
        Draft(),
        [
            Member("by", Forms.path, required: true, "The member whose value is the subject.", example: #""anonymousId""#, into: \.by),
            Member(
                "idle", Forms.time(1000 ... .max), "A new session begins after this time without an event of the subject.", into: \.idle),
            Member("as", Forms.path, "Where the id is written.", into: \.place),
            Member("most", Forms.integer(1...10_000_000), "How many subjects are remembered.", into: \.most),
        ], defaults: Draft(SessionPlan(by: Path(keys: [])))
    ).then { draft, _, _ -> SessionPlan? in
        draft.by.map { by in
            var session = SessionPlan(by: by)
            session.idle = draft.idle ?? session.idle
            session.place = draft.place ?? session.place
            session.most = draft.most ?? session.most
            return session
        }
    }

    struct Draft: Sendable {
        var by: Path?
        var idle: Duration?
        var place: Path?
        var most: Int?

        init() {}

        /// The values of a plan, as defaults that the schema shows.
        fileprivate init(_ plan: SessionPlan) {
            idle = plan.idle
            place = plan.place
            most = plan.most
        }
    }
}
