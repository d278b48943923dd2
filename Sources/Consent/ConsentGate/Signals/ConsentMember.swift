// What follows from the list of signals: the numbers of the members that carry consent, the forms of their meanings, and the compiled
// signals of a plan. This file names no signal.

public import Events
public import Plans

/// A member of an event that carries consent.
public struct ConsentMember: Hashable, Comparable, Sendable {
    /// The number of the member, in the order of the list of signals.
    let index: Int
    var declaration: MemberDeclaration { ConsentSignals.members[index] }

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
    static let members: [MemberDeclaration] = {
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
    var members: [MemberDeclaration] = []
    var meanings: [ConsentMeaningSchema] = []

    mutating func visit<Signal: ConsentSignal>(_: Signal.Type) {
        members += Signal.members
        if let meaning = Signal.meaning { meanings.append(meaning) }
    }
}

// MARK: - Compiled signals

extension CompiledSignals {
    /// Compiles the signals. `slots` has the slots of the members in their order.
    init(_ slots: [Int], _ map: ConsentMapCompiler) {
        var compiler = SignalCompiler(slots: slots, map: map)
        ConsentSignals.visit(&compiler)
        precondition(compiler.memberCount == slots.count, "a member that carries consent has no slot")
        let roots = ConsentMember.all.filter(\.isOutermost).map {
            Root(slot: slots[$0.index], isFalseSilent: $0.declaration.isFalseSilent)
        }
        self.init(slots: map.store.list(slots), roots: map.store.list(roots), signals: map.store.list(compiler.signals))
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
