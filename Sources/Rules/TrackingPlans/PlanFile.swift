// Reads a tracking plan from its file: the form of the file, the schemas in it, and the members that it calls private. Every fault has its line
// and column in that file.

internal import Document
internal import Events
internal import Expressions
internal import FormReading
internal import JSONSchema

/// The contents of the file, before its schemas are compiled.
struct PlanDraft: Sendable {
    /// A schema as the file has it. A node never changes, so threads can share it.
    struct SchemaText: @unchecked Sendable {
        let node: Node
    }

    struct Version: Sendable {
        var properties: SchemaText?
        var traits: SchemaText?
    }

    struct Event: Sendable {
        var owner: String?
        var description: String?
        var action: ViolationAction?
        var required: [Path] = []
        var plain = Version()
        var versions: [(key: String, value: Version)] = []
    }

    var version = TrackingPlan.defaultVersion
    var names: String?
    var required: [Path] = []
    var action = ViolationAction.count
    var unplanned: ViolationAction?
    var events: [(key: String, value: Event)] = []
}

public enum PlanFile {
    /// The most bytes of a file.
    public static let largest = Syntax.largest
    static let mostEvents = 10_000

    /// Reads the text of a file. Returns the plan, or all faults with their places in the text.
    public static func read(_ text: [UInt8]) -> Result<TrackingPlan, PlanFaults> {
        let source = Source(text)
        let reading: Reading
        var plan: TrackingPlan?
        do throws(LocatedFault) {
            let (root, faults) = try Outline.read(source, resolving: nil)
            reading = Reading(source, faults: faults)
            if let draft = form.read(root, reading), reading.faults.isEmpty { plan = PlanCompiler.compile(draft, root, reading) }
        } catch {
            return .failure(PlanFaults([error], in: source))
        }
        guard let plan, reading.faults.isEmpty else { return .failure(PlanFaults(reading.faults, in: source)) }
        return .success(plan)
    }

    // MARK: - The form

    private static let about = Forms.string.then { text, _, _ -> String? in text.value }

    /// A schema is read when everything else of the file is known.
    private static let schema = Form<PlanDraft.SchemaText>(#"{"type":["object","boolean"]}"#) { node, _ in PlanDraft.SchemaText(node: node)
    }
    .showing(#"{"type": "object"}"#)

    private static let anyName = KeyForm<String>(schema: #"{"type":"string"}"#, example: "order_completed") { key, node, reading in
        if !key.name.isEmpty { return key.name }
        reading.fault(node, at: key.range.lowerBound, "the name of an event must not be empty")
        return nil
    }

    private static let paths = Forms.set("members", of: Forms.path)

    private static let version = Form<PlanDraft.Version>.object(
        PlanDraft.Version(),
        [
            Member("properties", schema, "The JSON Schema (2020-12) of the member properties.", into: \.properties),
            Member("traits", schema, "The JSON Schema (2020-12) of the member traits.", into: \.traits),
        ])

    private static let event = Form<PlanDraft.Event>.object(
        PlanDraft.Event(),
        [
            Member("owner", about, "Who answers for the event.", example: #""shop""#, into: \.owner),
            Member(
                "description", about, "When the event is sent, and what it means.", example: #""An order was paid.""#, into: \.description),
            Member(
                "violation", Forms.choice(ViolationAction.self),
                "What happens to such an event that violates the plan; that of the plan when "
                    + "left out.", into: \.action),
            Member("require", paths, "Members that such an event must have.", example: #"["context.app.version"]"#, into: \.required),
            Member("properties", schema, "The JSON Schema (2020-12) of the member properties.", into: \.plain.properties),
            Member("traits", schema, "The JSON Schema (2020-12) of the member traits.", into: \.plain.traits),
            Member(
                "versions", Forms.table("versions", by: anyName, of: version),
                "Schemas by the version of the event; those above are for events without a version.", into: \.versions),
        ])

    static let form = Form<PlanDraft>.object(
        PlanDraft(),
        [
            Member("version", Forms.path, "The member that says the version of an event.", into: \.version),
            Member("names", about, "A regular expression that the name of each event matches.", example: #""^[a-z_]+$""#, into: \.names),
            Member("require", paths, "Members that every event of the plan must have.", example: #"["messageId"]"#, into: \.required),
            Member("violation", Forms.choice(ViolationAction.self), "What happens to an event that violates the plan.", into: \.action),
            Member(
                "unplanned", Forms.choice(ViolationAction.self),
                "What happens to an event that the plan does not name; it passes when left out.",
                into: \.unplanned),
            Member(
                "events", Forms.table("events", by: anyName, of: event, most: mostEvents), required: true, "The events by their names.",
                into: \.events),
        ]
    ).then { draft, node, reading in
        if draft.unplanned == .strip, let node = node["unplanned"] {
            reading.refuse(node, "count, mark or reject: no member can be removed from an event that the plan does not name")
        }
        return draft
    }
}

/// The faults of a plan's file, each with its line and column in it.
public struct PlanFaults: Error, Sendable {
    public struct Fault: Sendable, Equatable {
        public var line: Int
        public var column: Int
        public var message: String
    }

    public let faults: [Fault]

    init(_ faults: [LocatedFault], in source: Source) {
        self.faults = faults.map { fault in
            let (line, column) = source.place(of: fault.offset)
            return Fault(line: line, column: column, message: fault.message)
        }
    }
}
