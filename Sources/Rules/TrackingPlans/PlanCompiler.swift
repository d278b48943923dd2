// Compiles the contents of a plan's file: its schemas into one set that all events share, and its names into a table.

internal import Document
internal import Events
internal import Expressions
internal import FormReading
internal import JSONSchema

struct PlanCompiler {
    private let reading: Reading
    private let store = Store()
    private var schemas = SchemaCompiler()
    private var required: [Path] = []
    private var privateMembers: [TrackingPlan.PrivateMember] = []

    static func compile(_ draft: PlanDraft, _ root: Node, _ reading: Reading) -> TrackingPlan? {
        var compiler = PlanCompiler(reading: reading)
        return compiler.compile(draft, root)
    }

    private init(reading: Reading) { self.reading = reading }

    private mutating func compile(_ draft: PlanDraft, _ root: Node) -> TrackingPlan? {
        let nameRule = compileNames(draft.names, root)
        checkNames(nameRule, root)
        var rules: [EventRule] = []
        var events: [TrackingPlan.Event] = []
        for (name, event) in draft.events {
            let versions = event.versions.map { version in
                VersionRule(name: store.text(Array(version.key.utf8)), roots: compile(version.value, of: name))
            }
            rules.append(
                EventRule(
                    name: store.text(Array(name.utf8)), action: event.action ?? draft.action, plain: compile(event.plain, of: name),
                    versions: store.list(versions), required: store.list(places(of: draft.required + event.required))))
            events.append(
                TrackingPlan.Event(
                    name: name, owner: event.owner, description: event.description, action: event.action ?? draft.action,
                    versions: event.versions.map(\.key)))
        }
        guard reading.faults.isEmpty else { return nil }
        return TrackingPlan(
            draft, events: events, rules: rules, required: required, privateMembers: privateMembers, nameRule: nameRule,
            schema: schemas.finish(), store: store)
    }

    private func compileNames(_ pattern: String?, _ root: Node) -> CompiledPattern? {
        guard let pattern, let node = root["names"] else { return nil }
        do throws(PatternFault) {
            return try CompiledPattern(Array(pattern.utf8))
        } catch {
            reading.fault(node, error.message)
            return nil
        }
    }

    /// Reports the names of the plan itself that break its rule.
    private func checkNames(_ rule: CompiledPattern?, _ root: Node) {
        guard let rule else { return }
        for entry in root["events"]?.entries ?? [] {
            let name = Array(entry.key.name.utf8) + [0]
            let isNamed = name.withUnsafeBufferPointer { text in
                withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { spans in
                    rule.find(text.baseAddress!, length: text.count - 1, from: 0, spans: spans.baseAddress!, count: 1)
                }
            }
            if !isNamed {
                reading.fault(at: entry.key.range.lowerBound, "the name \(Words.quoted(entry.key.name)) does not match the rule of 'names'")
            }
        }
    }

    private mutating func places(of paths: [Path]) -> [Int] {
        var places: [Int] = []
        for path in paths {
            let place = required.firstIndex(of: path) ?? required.count
            if place == required.count { required.append(path) }
            if !places.contains(place) { places.append(place) }
        }
        return places
    }

    private mutating func compile(_ version: PlanDraft.Version, of event: String) -> SchemaRoots {
        SchemaRoots(
            properties: compile(version.properties?.node, of: event, at: TrackingPlan.properties),
            traits: compile(version.traits?.node, of: event, at: TrackingPlan.traits))
    }

    private mutating func compile(_ node: Node?, of event: String, at path: Path) -> Int {
        guard let node else { return -1 }
        findPrivate(node, of: event, at: path, isReachable: true)
        do throws(SchemaFault) {
            return try schemas.add(node, in: reading.source)
        } catch {
            reading.fault(at: error.offset, error.message)
            return -1
        }
    }

    // MARK: - Private members

    /// Finds the members that a schema calls private. They must be reachable by `properties` alone: only then are their places known before
    /// an event comes.
    private mutating func findPrivate(_ node: Node, of event: String, at path: Path, isReachable: Bool) {
        for entry in node.entries ?? [] {
            switch entry.key.name {
            case "private":
                switch entry.node.value {
                case .bool(true) where isReachable: privateMembers.append(TrackingPlan.PrivateMember(event: event, path: path))
                case .bool(true):
                    reading.fault(at: entry.node.offset, "only a member that 'properties' names in an object can be private")
                case .bool(false): break
                default: reading.fault(at: entry.node.offset, "'private' must be true or false, is \(entry.node.kind)")
                }
            case "properties":
                for member in entry.node.entries ?? [] {
                    findPrivate(member.node, of: event, at: Path(keys: path.keys + [member.key.name]), isReachable: isReachable)
                }
            case "const", "enum", "default", "examples": break
            default:
                let inner = entry.node.items ?? [entry.node]
                // `$defs` and the like hold schemas by names of their own.
                let named = ["$defs", "definitions", "patternProperties", "dependentSchemas"].contains(entry.key.name)
                for child in named ? entry.node.entries?.map(\.node) ?? [] : inner {
                    let stays = ["allOf", "anyOf", "oneOf", "then", "else", "if"].contains(entry.key.name)
                    findPrivate(child, of: event, at: path, isReachable: isReachable && stays)
                }
            }
        }
    }
}
