// What a signal of consent declares: the members of an event that carry it, how they are read, and, if the configuration gives it a
// meaning, the form of that meaning. Each signal is one file of this folder and one line in `ConsentSignals`. This file derives from that
// list the numbers of the members, the compiled signals, and what other modules show of them. It names no signal.

public import Events
public import Plans

/// A signal, compiled for one plan.
protocol ConsentSignal: BitwiseCopyable {
    /// The members that carry the signal, in the order in which they are shown.
    static var members: [ConsentMember.Declaration] { get }
    /// The form of its meaning in `map`. It is nil if the meaning is not configured.
    static var meaning: ConsentMeaningSchema? { get }
    /// Compiles the signal. `members` has one entry for each declared member.
    init(_ members: [SignalMember], _ map: ConsentMapCompiler)
    /// Reads the members of the event, and calls the methods of the reading for what they state. A member that is missing states nothing.
    /// A value that is not in the declared form must be reported with `breaks`.
    func read(_ event: ScannedEvent, _ reading: inout ConsentReading)
}

extension ConsentSignal {
    static var meaning: ConsentMeaningSchema? { nil }
}

protocol ConsentSignalVisitor: ~Copyable {
    mutating func visit<Signal: ConsentSignal>(_ signal: Signal.Type)
}

/// A member of a compiled signal.
struct SignalMember: BitwiseCopyable {
    let slot: Int
    /// The number of the member among those of all signals.
    let index: Int
}

// MARK: - Members

/// A member of an event that carries consent.
public struct ConsentMember: Hashable, Comparable, Sendable {
    struct Declaration: Sendable {
        let keys: [String]
        /// The form of a valid value, as it reads after "must be".
        let form: String
        /// True if the value `false` says the same as a missing member.
        let isFalseSilent: Bool
        /// True if `explain` shows the member when it is valid. False for an object of which only the members state something.
        let isShown: Bool

        init(_ keys: String..., form: String, isFalseSilent: Bool = false, isShown: Bool = true) {
            self.keys = keys
            self.form = form
            self.isFalseSilent = isFalseSilent
            self.isShown = isShown
        }

        /// True if the value of this member is the object that has the other member in it.
        func contains(_ other: Declaration) -> Bool { keys.count < other.keys.count && other.keys.starts(with: keys) }
    }

    /// The number of the member, in the order of the list of signals.
    let index: Int
    var declaration: Declaration { ConsentSignals.members[index] }

    public var path: Path { Path(keys: declaration.keys) }
    /// The form of a valid value, as it reads after "must be".
    public var form: String { declaration.form }
    /// True if the member is an object that has other members with consent in it.
    public var isContainer: Bool { ConsentSignals.members.contains { declaration.contains($0) } }
    /// True if no other member with consent contains this one.
    var isOutermost: Bool { !ConsentSignals.members.contains { $0.contains(declaration) } }

    static var all: [ConsentMember] { ConsentSignals.members.indices.map(ConsentMember.init) }

    public static func < (a: ConsentMember, b: ConsentMember) -> Bool { a.index < b.index }
}

extension ConsentSignals {
    /// The members of all signals.
    static let members: [ConsentMember.Declaration] = {
        var collector = DeclarationCollector()
        visit(&collector)
        return collector.members
    }()

    /// The forms of the meanings that the configuration can give to signals.
    public static let meanings: [ConsentMeaningSchema] = {
        var collector = DeclarationCollector()
        visit(&collector)
        return collector.meanings
    }()
}

private struct DeclarationCollector: ConsentSignalVisitor {
    var members: [ConsentMember.Declaration] = []
    var meanings: [ConsentMeaningSchema] = []

    mutating func visit<Signal: ConsentSignal>(_: Signal.Type) {
        members += Signal.members
        if let meaning = Signal.meaning { meanings.append(meaning) }
    }
}

// MARK: - Compiled signals

/// The signals of one plan. The store owns them.
struct CompiledSignals: BitwiseCopyable {
    /// An outermost member.
    struct Root: BitwiseCopyable {
        let slot: Int
        let isFalseSilent: Bool
    }

    /// The slots of the members by their numbers.
    let slots: UnsafeBufferPointer<Int>
    let roots: UnsafeBufferPointer<Root>
    /// The compiled signals in the order of the list.
    private let signals: UnsafeBufferPointer<UnsafeRawPointer>

    /// Compiles the signals. `slots` has the slots of the members in their order.
    init(_ slots: [Int], _ map: ConsentMapCompiler) {
        var compiler = SignalCompiler(slots: slots, map: map)
        ConsentSignals.visit(&compiler)
        precondition(compiler.memberCount == slots.count, "each member that carries consent has a slot")
        self.slots = map.store.list(slots)
        roots = map.store.list(
            ConsentMember.all.filter(\.isOutermost).map { Root(slot: slots[$0.index], isFalseSilent: $0.declaration.isFalseSilent) })
        signals = map.store.list(compiler.signals)
    }

    var count: Int { signals.count }

    /// Returns the compiled signal at this place of the list.
    @inline(__always) func signal<Signal: ConsentSignal>(_ index: Int, _: Signal.Type) -> UnsafePointer<Signal> {
        assert(signals.indices.contains(index), "a signal that is not compiled")
        return signals[index].assumingMemoryBound(to: Signal.self)
    }
}

private struct SignalCompiler: ConsentSignalVisitor {
    let slots: [Int]
    let map: ConsentMapCompiler
    var memberCount = 0
    var signals: [UnsafeRawPointer] = []

    mutating func visit<Signal: ConsentSignal>(_: Signal.Type) {
        let members = Signal.members.indices.map { SignalMember(slot: slots[memberCount + $0], index: memberCount + $0) }
        memberCount += members.count
        signals.append(UnsafeRawPointer(map.store.one(Signal(members, map))))
    }
}

/// Compiles the entries of `map` for the signals.
struct ConsentMapCompiler {
    let plan: ConsentMapPlan
    /// The names of the purposes in the order of their bits.
    let purposes: [[UInt8]]
    let store: Store

    /// Returns one rule for each entry of the key. `make` gets the bit of the purpose and its meaning.
    func rules<Rule: BitwiseCopyable>(_ key: String, _ make: (Int, ConsentMeaning) -> Rule) -> UnsafeBufferPointer<Rule> {
        store.list(
            plan[key].map { entry in
                guard let bit = purposes.firstIndex(of: Array(entry.purpose.utf8)) else {
                    preconditionFailure("a purpose of the map has no bit")
                }
                return make(bit, entry.meaning)
            })
    }
}
