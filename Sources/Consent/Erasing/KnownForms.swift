// In which form a provider got an id. An event that holds nothing but the id runs through the transforms of each route to the provider and
// of the provider. What comes out of it counts only if it is the id itself or a hash of it under a key that these transforms name. Any other
// value, such as a mask or a placeholder, may stand for many people, and nobody is asked to erase it. So a provider that got only hashes
// never gets the id from an erasure.

internal import CJansson
public import Delivery
internal import Editing
internal import Events
internal import Expressions
public import Plans
internal import Platform

public struct KnownForms {
    private let keys: [HMACKey]
    /// The members that hold the ids of subjects.
    private let members: [String]
    /// What happens to an event on each route to each provider, by provider.
    private let ways: [[Way]]

    private struct Way {
        var steps: [any Step]
        var route: StepRun
        var provider: StepRun
    }

    public init(_ plan: Plan) {
        let keys = plan.keys.map { HMACKey($0.secret.bytes) }
        self.keys = keys
        members = plan.consent?.subject.map(\.description) ?? []
        ways = plan.providers.indices.map { provider in
            plan.routes.filter { $0.providers.contains(provider) }.map { route in
                let shape = plan.providers[provider].shape.transforms
                return Way(
                    steps: route.transforms + shape, route: StepRun(route.transforms, plan, keys, keepsDigests: false),
                    provider: StepRun(shape, plan, keys, keepsDigests: true))
            }
        }
    }

    /// Returns the ids as the provider with this index knows them by the routes of the plan. The list is empty if no route passes them on.
    public func subjects(_ ids: [NamedID], at provider: Int) -> [SubjectID] {
        var found: [SubjectID] = []
        for id in ids {
            for member in id.member.map({ [$0] }) ?? members {
                guard let path = try? Path(parsing: member) else { continue }
                for way in ways[provider] { found += forms(of: id.id, in: path, on: way) }
            }
        }
        return found.unique
    }

    private func forms(of id: String, in member: Path, on way: Way) -> [SubjectID] {
        let line = Array(member.keys.reversed().reduce(jsonQuoted(id)) { "{\(jsonQuoted($1)):\($0)}" }.utf8)
        guard let routed = way.route.run(line), let shaped = way.provider.run(routed) else { return [] }
        var known: Set<String> = [id]
        for hashing in way.steps.compactMap(\.hashing) {
            for text in known { known.insert(hash(text, hashing)) }
        }
        return leaves(shaped).filter { known.contains($0.text) }.map { leaf in
            SubjectID(member: Path(keys: leaf.path).description, id: leaf.text)
        }
    }

    private func hash(_ text: String, _ hashing: StepHashing) -> String {
        precondition(keys.indices.contains(hashing.key), "a step hashes under a key that the plan does not have")
        let store = Store()
        let message = store.text(Array(text.utf8))
        let digits = [UInt8](unsafeUninitializedCapacity: 64 + Words.slack) { out, count in
            keys[hashing.key].write(message, to: out.baseAddress!)
            count = 64
        }
        withExtendedLifetime(store) {}
        return (hashing.name.map { $0 + ":" } ?? "") + String(decoding: digits.prefix(hashing.digits), as: UTF8.self)
    }
}

/// The steps of one transform, compiled once.
private final class StepRun {
    private let store = Store()
    private var transformer: Transformer?
    private let program: Int
    private var scanner: Scanner

    init(_ steps: [any Step], _ plan: Plan, _ keys: [HMACKey], keepsDigests: Bool) {
        let resources = StepResources(keys: store.list(keys), sources: plan.sources.map(\.name), keepsDigests: keepsDigests)
        var compiler = ProgramCompiler(resources, store: store)
        program = compiler.add(cut: [], middle: compiler.compile(steps), annotation: nil)
        transformer = steps.isEmpty ? nil : Transformer(compiler.stages, compiler.programs)
        scanner = Scanner(PathTrie([]), depth: plan.limits.depth)
    }

    /// Returns the event as the steps leave it. Returns nil if they withhold it, or if it is no event.
    func run(_ line: [UInt8]) -> [UInt8]? {
        var block = Block(capacity: line.count)
        line.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.seal()
        guard let event = scanner.scan(block.bytes, 0) else { return nil }
        guard transformer != nil else { return line }
        guard let made = transformer!.run(program, event: event, around: .init(now: 0), turn: 1)?.event else { return nil }
        return Array(UnsafeBufferPointer(start: made.block + Int(made.start), count: Int(made.end - made.start)))
    }
}

/// Returns the texts of an event with their paths. Lists are left out, because no id is looked for there.
private func leaves(_ line: [UInt8]) -> [(path: [String], text: String)] {
    let root = line.withUnsafeBytes { json_loadb($0.baseAddress, $0.count, Int(JSON_ALLOW_NUL), nil) }
    guard let root else { return [] }
    defer { json_decref(root) }
    var found: [([String], String)] = []
    collect(root, [], into: &found)
    return found
}

private func collect(_ value: UnsafeMutablePointer<json_t>, _ path: [String], into found: inout [([String], String)]) {
    if let text = json_string_value(value) {
        let bytes = UnsafeRawBufferPointer(start: text, count: json_string_length(value))
        return found.append((path, String(decoding: bytes, as: UTF8.self)))
    }
    guard value.pointee.type == JSON_OBJECT else { return }
    var member = json_object_iter(value)
    while let at = member {
        if let key = json_object_iter_key(at), let inner = json_object_iter_value(at) {
            collect(inner, path + [String(cString: key)], into: &found)
        }
        member = json_object_iter_next(value, at)
    }
}
