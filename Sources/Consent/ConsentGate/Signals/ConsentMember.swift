// What follows from the list of signals: the numbers of the members that carry consent, the forms of their meanings, and the compiled
// signals of a plan. This file names no signal.

public import Events
public import Plans

/// A member of an event that carries consent, or an id of a subject.
public struct ConsentMember: Hashable, Comparable, Sendable {
    /// The place of the member: those of the signals in the order of the list, then those of `map.members`, then the subjects.
    let index: Int
    public let path: Path
    /// The form of a valid value, as it reads after "must be".
    public let form: String
    /// True if the member is an object that has other members with consent in it.
    public let isContainer: Bool

    /// The members of the signals.
    static let all: [ConsentMember] = ConsentSignals.members.enumerated().map { index, declaration in
        ConsentMember(
            index: index, path: Path(keys: declaration.keys), form: declaration.form,
            isContainer: ConsentSignals.members.contains { declaration.contains($0) })
    }

    /// The declaration of a member of a signal.
    var declaration: MemberDeclaration? { ConsentSignals.members.indices.contains(index) ? ConsentSignals.members[index] : nil }
    /// The largest number of paths that `map.members` may name: each member of a signal has a bit in a word.
    public static let mostOwn = 32

    /// Returns the members that a plan names itself: those of `map.members`, and those with the ids of subjects.
    static func own(_ plan: ConsentPlan) -> [ConsentMember] {
        let signals = plan.map.memberPaths.map { ($0, "a string, a number, true or false") }
        return (signals + plan.subject.map { ($0, Subjects.form) }).enumerated().map { number, member in
            ConsentMember(index: all.count + number, path: member.0, form: member.1, isContainer: false)
        }
    }

    /// True if the value of this member is the object that has the other member in it.
    func contains(_ other: ConsentMember) -> Bool { path.keys.count < other.path.keys.count && other.path.keys.starts(with: path.keys) }

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
        // A member of `map.members` may also stand inside another one. Then two members differ, and no memo is used.
        let roots =
            ConsentMember.all.compactMap { member in
                member.declaration?.silence.map { Root(slot: slots[member.index], silence: $0) }
            } + map.plan.memberPaths.map { Root(slot: map.slot($0), silence: .never) }
        self.init(
            slots: map.store.list(slots + map.plan.memberPaths.map(map.slot)), roots: map.store.list(roots),
            signals: map.store.list(compiler.signals))
    }
}

extension MemberDeclaration {
    /// When the member states nothing, if it is an outermost one. It is nil if another member with consent contains it: then that one
    /// differs too.
    fileprivate var silence: CompiledSignals.Root.Silence? {
        if isFrame { return .ifObject }
        guard !ConsentSignals.members.contains(where: { !$0.isFrame && $0.contains(self) }) else { return nil }
        return isFalseSilent ? .ifFalse : .never
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
