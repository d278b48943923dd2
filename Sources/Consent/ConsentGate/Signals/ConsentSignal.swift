// What a signal of consent declares: the members of an event that carry it, how they are read, and, if the configuration gives it a
// meaning, the form of that meaning. Each signal is one file of this folder and one line in `ConsentSignals`.

internal import Events
internal import Plans

/// A signal, compiled for one plan.
protocol ConsentSignal: BitwiseCopyable {
    /// The members that carry the signal, in the order in which they are shown.
    static var members: [MemberDeclaration] { get }
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

/// What a signal declares of one of its members.
struct MemberDeclaration: Sendable {
    let keys: [String]
    /// The form of a valid value, as it reads after "must be".
    let form: String
    /// True if the value `false` says the same as a missing member.
    let isFalseSilent: Bool
    /// True if `explain` shows the member when it is valid. False for an object of which only the members state something.
    let isShown: Bool
    /// True for an object that holds much besides consent. Only its form is checked, and its other content changes nothing.
    let isFrame: Bool

    init(_ keys: String..., form: String, isFalseSilent: Bool = false, isShown: Bool = true, isFrame: Bool = false) {
        self.keys = keys
        self.form = form
        self.isFalseSilent = isFalseSilent
        self.isShown = isShown
        self.isFrame = isFrame
    }

    /// True if the value of this member is the object that has the other member in it.
    func contains(_ other: MemberDeclaration) -> Bool { keys.count < other.keys.count && other.keys.starts(with: keys) }
}

// MARK: - Compiled signals

/// The signals of one plan. The store owns them.
struct CompiledSignals: BitwiseCopyable {
    /// An outermost member, and the values by which it states nothing.
    struct Root: BitwiseCopyable {
        enum Silence: UInt8, BitwiseCopyable { case never, ifFalse, ifObject }
        let slot: Int
        let silence: Silence

        @inline(__always) func isSilent(_ slot: Slot, in block: Bytes) -> Bool {
            switch silence {
            case .never: false
            case .ifFalse: slot.value(in: block).isFalse
            case .ifObject: slot.value(in: block).isObject
            }
        }
    }

    /// The slots of the members by their numbers.
    let slots: UnsafeBufferPointer<Int>
    let roots: UnsafeBufferPointer<Root>
    /// The compiled signals in the order of the list.
    private let signals: UnsafeBufferPointer<UnsafeRawPointer>

    init(slots: UnsafeBufferPointer<Int>, roots: UnsafeBufferPointer<Root>, signals: UnsafeBufferPointer<UnsafeRawPointer>) {
        self.slots = slots
        self.roots = roots
        self.signals = signals
    }

    var count: Int { signals.count }

    /// Returns the compiled signal at this place of the list.
    @inline(__always) func signal<Signal: ConsentSignal>(_ index: Int, _: Signal.Type) -> UnsafePointer<Signal> {
        assert(signals.indices.contains(index), "a signal is not compiled")
        return signals[index].assumingMemoryBound(to: Signal.self)
    }
}

/// Compiles the entries of `map` for the signals.
struct ConsentMapCompiler {
    let plan: ConsentMapPlan
    /// The names of the purposes in the order of their bits.
    let purposes: [[UInt8]]
    let store: Store
    /// Returns the slot of a member that the plan names.
    let slot: (Path) -> Int

    /// Returns the bit of a purpose that the map names.
    func bit(of purpose: String) -> Int {
        guard let bit = purposes.firstIndex(of: Array(purpose.utf8)) else { preconditionFailure("a purpose of the map has no bit") }
        return bit
    }

    /// Returns one rule for each entry of the key. `make` gets the bit of the purpose and its meaning.
    func rules<Rule: BitwiseCopyable>(_ key: String, _ make: (Int, ConsentMeaning) -> Rule) -> UnsafeBufferPointer<Rule> {
        store.list(plan[key].map { make(bit(of: $0.purpose), $0.meaning) })
    }
}
