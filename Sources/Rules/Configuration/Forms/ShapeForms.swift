// The forms of a provider's `filter` and `transform`, which are carried out when events are handed over. They are those of a route, without
// what queues do not keep of an event.

internal import Document
internal import FormReading
internal import Plans

enum ShapeForms {
    /// The names of the schema's definitions of both forms.
    static let (filterName, transformName) = ("handOverFilter", "handOverTransform")
    static let definitions = [(name: filterName, json: filter.schema), (name: transformName, json: Transforms.stepsAtHandOver.schema)]
    /// The schemas of both keys beside the other keys of a provider.
    static let members = [
        (name: "filter", json: SchemaParts.ref(filterName)), (name: "transform", json: SchemaParts.ref(transformName)),
    ]

    static let filter = Transforms.atHandOver(
        Form<ShapePlan>.object(
            ShapePlan(),
            [
                Member("events", RouteForms.globs, "Globs on the event's name; every event when left out.", into: \.events),
                Member(
                    "match", RouteForms.match,
                    "Members and the values that they must equal, where a list means any of them; all events when left out.",
                    example: #"{"type": "track"}"#, into: \.match),
                Member(
                    "not", RouteForms.not,
                    "Excludes events by globs on their name, by members and values, or by an expression; none is excluded when left out.",
                    example: #"{"match": {"properties.test": true}}"#, into: \.not),
                Member(
                    "where", ExpressionForms.condition,
                    "An expression in CEL that must be true for the event; all events pass when left out.",
                    example: #""properties.price > 10""#, into: \.condition),
            ]
        ).then { filter, node, reading -> ShapePlan? in
            if node.entries?.isEmpty ?? false {
                reading.fault(node, "must not be empty, expected at least one of events, match, not or where")
            }
            return filter
        }.notEmpty)

    /// Reads both keys of a provider.
    static func shape(of provider: Node, _ reading: Reading) -> ShapePlan {
        var shape = ShapePlan()
        if let node = provider["filter"], let read = filter.read(node, reading) { shape = read }
        if let node = provider["transform"], let steps = Transforms.stepsAtHandOver.read(node, reading) { shape.transforms = steps }
        return shape
    }
}
