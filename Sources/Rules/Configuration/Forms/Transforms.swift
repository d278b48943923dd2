// The form of `transform`, of a route or of a provider: a list of objects with one operation each. The operations are those of `StepDeclaration.all`.

internal import Document
internal import Editing
internal import Events
internal import FormReading

enum Transforms {
    static let steps = Forms.list("operations", of: step, least: 0) { steps, reading in
        refuseHashingTwice(steps, in: "this route", reading)
    }

    /// The transform of a provider. It runs when events are handed over, with a form of its own, since less is known of them then.
    static let stepsAtHandOver = atHandOver(
        Forms.list("operations", of: step, least: 0) { steps, reading in refuseHashingTwice(steps, in: "this transform", reading) })

    /// Returns the form for a part that is carried out when an event is handed over.
    static func atHandOver<Value>(_ form: Form<Value>) -> Form<Value> {
        Form(form.schema) { node, reading in
            reading.isAtHandOver = true
            defer { reading.isAtHandOver = false }
            return form.read(node, reading)
        }
    }

    /// Refuses a second hash of a member. A hash of a hash would differ from every other route's hash of that member.
    private static func refuseHashingTwice(_ steps: [(value: any Step, node: Node)], in place: String, _ reading: Reading) {
        var hashed: Set<Path> = []
        for (_, step) in steps {
            for field in step["hash"]?["fields"]?.items ?? [] {
                guard let text = field.text, let path = try? Path(parsing: text.value), !hashed.insert(path).inserted else { continue }
                reading.fault(field, "\(Reading.named(field)) is hashed already in \(place), expected once")
            }
        }
    }

    private static let step = Form<any Step>(
        "{\"anyOf\":" + JSONText.list(StepDeclaration.all.map(schema)) + "}"
    ) { node, reading in
        guard let entries = node.entries else {
            reading.refuseType(node, "an object of one operation")
            return nil
        }
        let names = StepDeclaration.all.map(\.name)
        reading.refuseUnknownKeys(of: node, known: names, called: "operation")
        let known = entries.filter { names.contains($0.key.name) }
        if entries.isEmpty { reading.fault(node, "must not be empty, expected one of \(Words.either(names))") }
        if known.count > 1 {
            reading.fault(
                node, "holds \(Words.all(known.map(\.key.name))), expected one operation in each object, since their order matters")
        }
        let steps = known.map { entry in StepDeclaration.all.first { $0.name == entry.key.name }!.form.read(entry.node, reading) }
        return steps.first ?? nil
    }

    private static func schema(of step: StepDeclaration) -> String {
        let about = #""description":\#(JSONText.quoted(step.about)),"examples":[\#(step.example.settings)]"#
        let own = step.form.schema == "{}" ? "{\(about)}" : "{\(about),\(step.form.schema.dropFirst())"
        return #"{"type":"object","properties":{"\#(step.name)":\#(own)},"required":["\#(step.name)"],"additionalProperties":false}"#
    }
}
