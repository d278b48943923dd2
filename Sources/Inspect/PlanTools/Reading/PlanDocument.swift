// A valid plan with its schemas in the simplified form that comparisons, pages and generated code need.

internal import Document
internal import Events
public import TrackingPlans

public struct PlanDocument {
    /// The schemas of an event, without versions or of one version.
    struct Schemas {
        /// It is nil for an event without a version.
        var version: String?
        var properties: SchemaShape?
        var traits: SchemaShape?

        /// The members of an event that have a schema, with the schema.
        var members: [(name: String, shape: SchemaShape)] {
            [("properties", properties), ("traits", traits)].compactMap { name, shape in shape.map { (name, $0) } }
        }
    }

    struct Event {
        var name: String
        var owner: String?
        var description: String?
        var action: ViolationAction
        var required: [String]
        /// The schemas for events without a version. It is nil if such an event violates the plan.
        var plain: Schemas?
        var versions: [Schemas]

        var all: [Schemas] { [plain].compactMap(\.self) + versions }
    }

    let events: [Event]
    let action: ViolationAction
    let unplanned: ViolationAction?
    let names: String?
    let version: String
    /// The keys of the member that has the version of an event.
    let versionPath: [String]
    let required: [String]

    /// Reads the text of a plan. Throws all faults with their places if it is not valid.
    public init(_ text: [UInt8]) throws(PlanFaults) {
        let plan = try PlanFile.read(text).get()
        let source = Source(text)
        guard let root = try? Outline.read(source, resolving: nil).root else { preconditionFailure("a plan was read that is not JSON") }
        func words(_ node: Node?) -> [String] { node?.items?.compactMap { $0.text?.value } ?? [] }
        var reader = ShapeReader(source)
        var events: [Event] = []
        for (event, entry) in zip(plan.events, root["events"]?.entries ?? []) {
            func schemas(_ node: Node, _ version: String?) -> Schemas {
                Schemas(
                    version: version, properties: node["properties"].map { reader.shape(root: $0) },
                    traits: node["traits"].map { reader.shape(root: $0) })
            }
            let versions = (entry.node["versions"]?.entries ?? []).map { schemas($0.node, $0.key.name) }
            let plain = schemas(entry.node, nil)
            events.append(
                Event(
                    name: event.name, owner: event.owner, description: event.description, action: event.action,
                    required: words(entry.node["require"]), plain: versions.isEmpty || !plain.members.isEmpty ? plain : nil,
                    versions: versions))
        }
        self.events = events
        action = root["violation"]?.text.flatMap { ViolationAction(rawValue: $0.value) } ?? .count
        unplanned = plan.unplanned
        names = plan.namePattern
        version = root["version"]?.text?.value ?? TrackingPlan.defaultVersion.description
        versionPath = (try? Path(parsing: version))?.keys ?? TrackingPlan.defaultVersion.keys
        required = words(root["require"])
    }
}

extension ViolationAction {
    /// The order of the actions: a later one is stricter.
    var strictness: Int { ViolationAction.allCases.firstIndex(of: self)! }

    /// What happens to an event that violates the plan, in words.
    var words: String {
        switch self {
        case .count: "it passes and is counted"
        case .mark: "it passes with a mark"
        case .strip: "it loses the offending members"
        case .reject: "it goes to the dead letters"
        }
    }
}
