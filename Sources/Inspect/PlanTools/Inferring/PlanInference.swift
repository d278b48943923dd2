// `switchyard plan infer`: reads events, and writes a first tracking plan that all of them satisfy. Its memory is bounded by limits on names,
// members and texts; what passes a limit becomes a schema that allows anything, and the report says so.

public import Events
public import TrackingPlans

/// The limits of an inference. docs/plan.md names them.
enum InferenceLimits {
    static let events = 500
    /// Versions of one event.
    static let versions = 16
    /// Names in one object.
    static let members = 200
    /// Members of all events together.
    static let allMembers = 4_000
    static let levels = 8
    /// Values in `properties` or `traits` of one event.
    static let values = 10_000
    static let longestName = 100
    static let longestText = 40
    /// Texts of one enum.
    static let distinct = 20
    /// An enum needs as many strings at its place, and this many for each of its texts.
    static let stringsOfEnum = 100
    static let share = 10
    /// Each text of an enum must have come this often, and from this many subjects if the events have subjects.
    static let occurrences = 5
    static let subjects = 5
    static let stringsOfFormat = 5
    /// Bytes of a plan that the router reads.
    static let file = 1 << 20
    /// Lines of the report about places.
    static let notes = 100
}

/// What the walk through one event shares.
struct InferenceWalk {
    /// The values that were seen in the present member.
    var values = 0
    var membersLeft = InferenceLimits.allMembers
    /// A hash of the person or device that the event is of.
    var subject: Int?

    /// Returns the text of a string between its quotes, or nil if it has a lone surrogate.
    func text(_ raw: ByteRun) -> [UInt8]? { Text.withText(raw.bytes) { $0.map(Array.init) } }
}

/// The events of one name, without versions or of one version.
final class EventShape {
    var count = 0
    let properties = ValueShape()
    let traits = ValueShape()
}

final class NamedShape {
    var count = 0
    var plain: EventShape?
    var versions: [[UInt8]: EventShape] = [:]
    /// True if there are too many versions, or one that no plan can list.
    var hasOpenVersions = false
}

public struct PlanInference: ~Copyable {
    let version: Path
    private var scanner: Scanner
    private let slots: (name: Int, type: Int, version: Int, properties: Int, traits: Int, ids: [Int])
    private var decoder = Decoder()
    private var walk = InferenceWalk()
    private(set) var names: [[UInt8]: NamedShape] = [:]
    public private(set) var events = 0
    /// Lines that are not events, and the first of them.
    public private(set) var invalid = 0
    public private(set) var firstFault: (line: Int, message: String)?
    private(set) var nameless = 0
    /// Events whose names look like identifiers, and events after the last name that the plan takes.
    private(set) var unnamed = 0
    private(set) var beyond = 0
    private var line = 0

    /// `version` is the member that says the version of an event.
    public init(version: Path = TrackingPlan.defaultVersion) {
        self.version = version
        func path(_ key: String) -> Path { Path(keys: [key]) }
        let ids = [path("userId"), path("anonymousId")]
        let trie = PathTrie([path("event"), path("type"), version, path("properties"), path("traits")] + ids)
        func slot(_ path: Path) -> Int { trie.slot(of: path)! }
        slots = (slot(path("event")), slot(path("type")), slot(version), slot(path("properties")), slot(path("traits")), ids.map(slot))
        scanner = Scanner(trie)
    }

    /// Reads the lines of a sealed block.
    public mutating func read(_ block: borrowing Block) {
        var start = 0
        while start < block.count {
            line += 1
            if let event = scanner.scan(block.bytes, UInt32(start)) {
                note(event)
            } else if scanner.fault.kind != .blank {
                refuse(scanner.fault.message)
            }
            start = Int(scanner.lineEnd) + 1
        }
    }

    /// Counts a line that was too long to be read.
    public mutating func skipLine() {
        line += 1
        refuse("the line is too long")
    }

    private mutating func refuse(_ message: String) {
        invalid += 1
        if firstFault == nil { firstFault = (line, message) }
    }

    private mutating func note(_ event: ScannedEvent) {
        events += 1
        func text(_ slot: Int) -> [UInt8]? {
            event.slots[slot].string(in: event.block).flatMap { walk.text($0) }
        }
        guard let name = text(slots.name) ?? text(slots.type) else {
            nameless += 1
            return
        }
        guard !IdentifierLooks.isLikelyName(name) else {
            unnamed += 1
            return
        }
        guard names[name] != nil || names.count < InferenceLimits.events else {
            beyond += 1
            return
        }
        let named = names[name] ?? NamedShape()
        names[name] = named
        named.count += 1
        guard let shape = shape(event, named) else { return }
        shape.count += 1
        walk.subject = subject(event)
        see(event, slots.properties, shape.properties)
        see(event, slots.traits, shape.traits)
    }

    /// Returns the shape of the event's version, or nil if the versions of its name are given up.
    private func shape(_ event: ScannedEvent, _ named: NamedShape) -> EventShape? {
        if named.hasOpenVersions { return nil }
        let slot = event.slots[slots.version]
        guard slot.isPresent else {
            let plain = named.plain ?? EventShape()
            named.plain = plain
            return plain
        }
        let version = slot.string(in: event.block).flatMap { walk.text($0) } ?? Array(slot.value(in: event.block).bytes)
        if let known = named.versions[version] { return known }
        guard named.versions.count < InferenceLimits.versions, !version.isEmpty, version.count <= InferenceLimits.longestName,
            !version.contains(0)
        else {
            named.hasOpenVersions = true
            named.versions = [:]
            named.plain = nil
            return nil
        }
        let new = EventShape()
        named.versions[version] = new
        return new
    }

    private mutating func subject(_ event: ScannedEvent) -> Int? {
        for slot in slots.ids {
            guard let id = decoder.identity(event.slots[slot], in: event.block, booleans: false) else { continue }
            var hasher = Hasher()
            hasher.combine(bytes: UnsafeRawBufferPointer(start: id.base, count: id.count))
            return hasher.finalize()
        }
        return nil
    }

    private mutating func see(_ event: ScannedEvent, _ slot: Int, _ shape: ValueShape) {
        guard event.slots[slot].isPresent else { return }
        walk.values = 0
        shape.see(event.block + Int(event.slots[slot].start), level: 0, &walk)
        if walk.values >= InferenceLimits.values { shape.giveUp(.large) }
    }
}
