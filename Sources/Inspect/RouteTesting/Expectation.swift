// What a test expects of one event, and how that is compared with what the judge and the providers did. A route that the expectation does not
// name must not take the event. Only what is written is compared, apart from that.

internal import Document
public import Explaining
internal import FormReading

public struct Expectation: Sendable {
    public var routes: [(key: String, value: Route)]?
    public var emits: [String]?
    /// Why the line is no event.
    public var fault: String?

    public struct Route: Sendable {
        public var verdict = Explanation.Outcome.admitted
        public var reason: String?
        public var event: JSONValue?
        public var to: [String]?
        public var providers: [(key: String, value: Provider)] = []
    }

    /// What one provider does with the copy of a route.
    public struct Provider: Sendable {
        public var verdict = Explanation.Outcome.admitted
        public var reason: String?
        public var event: JSONValue?
        public var wire: JSONValue?
    }

    public init() {}
}

extension Expectation {
    static let form = Form<Expectation>.object(
        Expectation(),
        [
            Member(
                "routes", routeTable,
                "What each route does. A route that is not named must not take the event.",
                example: #"{"all": {"to": ["archive"]}}"#, into: \.routes),
            Member(
                "emits", Forms.list("names", of: TestFile.text, least: 0), "The names of the events that emit rules make from it.",
                into: \.emits),
            Member("fault", TestFile.text, "Why the line is no event, as explain says it.", into: \.fault),
        ])

    /// A table of routes that may be empty: then no route takes the event.
    private static let routeTable = Form<[(key: String, value: Route)]>(
        #"{"type":"object","propertyNames":\#(Forms.anyKey.schema),"additionalProperties":\#(route.schema)}"#
    ) { node, reading in
        node.entries?.isEmpty ?? false ? [] : Forms.table("routes", by: Forms.anyKey, of: route).read(node, reading)
    }

    private static let verdict = Forms.choice(Explanation.Outcome.self)
    private static let value = Form<JSONValue>("{}") { node, _ in JSONValue(node) }.showing(#"{"event": "purchase"}"#)

    private static let route = Form<Route>.object(
        Route(),
        [
            Member("verdict", verdict, "What the route decides; admitted when left out.", into: \.verdict),
            Member("reason", TestFile.text, "Why, as explain says it; any reason when left out.", into: \.reason),
            Member("event", value, "The route's copy, masked as explain masks it; any when left out.", into: \.event),
            Member("to", Forms.list("providers", of: TestFile.text, least: 0), "The providers that get it; any when left out.", into: \.to),
            Member(
                "providers", Forms.table("providers", by: Forms.anyKey, of: provider),
                "What becomes of the copy at the hand-over to a provider.",
                example: #"{"crm": {"event": {"event": "purchase"}}}"#, into: \.providers),
        ])

    private static let provider = Form<Provider>.object(
        Provider(),
        [
            Member(
                "verdict", verdict, "What the filter and the transform of the provider decide; admitted when left out.", into: \.verdict),
            Member("reason", TestFile.text, "Why, as explain says it; any reason when left out.", into: \.reason),
            Member("event", value, "The event as the module gets it, masked; any when left out.", into: \.event),
            Member(
                "wire", value,
                "What the module would send, as explain --to --json shows it; it is asked only if this key is there, and {} lets --update write it.",
                into: \.wire),
        ])
}
