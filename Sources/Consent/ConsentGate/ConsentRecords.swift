// What is on record of every subject, in memory, as the gate asks for it: one probe of a table for each id, without a lock and without
// waiting, whoever writes at the same time. People are many and what they say is much alike: the table holds a number for each subject,
// and what was said stands once for each number.
//
// A table never moves. When it is full another one, twice as large, goes behind it; a subject stays in the one where it came to stand.

public import Admission
internal import CPlatform
internal import Platform

public final class ConsentRecords: @unchecked Sendable {
    /// A number of what was said. 0: the subject is not in the table.
    typealias Number = UInt32
    /// On record is that nothing is.
    static let nothing: Number = 1
    /// More different things were said than can be told apart.
    static let unreadable: Number = .max

    /// The most different things that are told apart.
    private static let mostTerms = 1 << 16
    private static let mostTables = 40

    // Written under the lock; `tableCount` is what readers go by.
    private let tables: UnsafeMutablePointer<SubjectTable>
    private let tableCount: UnsafeMutablePointer<UInt32>
    /// Why nothing on record counts; 0: it does.
    private let troubles: UnsafeMutablePointer<UInt32>
    private let state: Monitor<State>

    private struct State {
        var terms: [[ConsentTerms]] = [[], []]
        var numbers: [[ConsentTerms]: Number] = [[]: ConsentRecords.nothing]
        var count = 0
        /// How many subjects the last table still takes. Not in the table, which readers copy without the lock.
        var room: Int
    }

    /// `room`: for how many subjects at first.
    public init(room: Int = 0) {
        tables = .allocate(capacity: ConsentRecords.mostTables)
        tableCount = .allocate(capacity: 1)
        troubles = .allocate(capacity: 1)
        tables.initialize(to: SubjectTable(room: room))
        tableCount.initialize(to: 1)
        troubles.initialize(to: 0)
        state = Monitor(State(room: tables.pointee.room))
    }

    deinit {
        for index in 0..<Int(tableCount.pointee) { tables[index].deallocate() }
        tables.deallocate()
        tableCount.deallocate()
        troubles.deallocate()
    }

    // MARK: - Writing

    /// From now on this is on record of the subject: what it and all that are tied to it have said, each once; empty: nothing is.
    public func set(_ key: SubjectKey, _ terms: [ConsentTerms]) {
        state.withLock { state in
            let number = number(of: terms, &state)
            for index in 0..<Int(tableCount.pointee) where tables[index].change(key, to: number) { return }
            // Of whom nothing is on record need not stand in the table.
            if number == ConsentRecords.nothing { return }
            if state.room == 0 { state.room = grow() }
            tables[Int(tableCount.pointee) - 1].insert(key, number)
            state.room -= 1
            state.count += 1
        }
    }

    /// How many subjects the new table takes.
    private func grow() -> Int {
        let count = Int(tableCount.pointee)
        precondition(count < ConsentRecords.mostTables, "more subjects than memory has room for")
        (tables + count).initialize(to: SubjectTable(room: tables[count - 1].room * 2))
        cplatform_store(tableCount, UInt32(count + 1))
        return tables[count].room
    }

    private func number(of terms: [ConsentTerms], _ state: inout State) -> Number {
        if let known = state.numbers[terms] { return known }
        guard state.terms.count < ConsentRecords.mostTerms else { return ConsentRecords.unreadable }
        state.terms.append(terms)
        let number = Number(state.terms.count - 1)
        state.numbers[terms] = number
        return number
    }

    /// While set, nothing that is on record counts: whoever asks is denied.
    public var isUnreadable: Bool {
        get { view.isUnreadable }
        set { set(ConsentRecords.isDamaged, newValue) }
    }

    /// The same, since the clock is behind what is on record, so that nobody can tell what was said last.
    public var isClockBehind: Bool {
        get { cplatform_load(troubles) == ConsentRecords.isBehind }
        set { set(ConsentRecords.isBehind, newValue) }
    }

    private static let isDamaged: UInt32 = 1
    private static let isBehind: UInt32 = 2

    private func set(_ trouble: UInt32, _ isThere: Bool) {
        state.withLock { _ in
            let others = cplatform_load(troubles) & ~trouble
            cplatform_store(troubles, isThere ? others | trouble : others)
        }
    }

    // MARK: - Reading

    /// How many subjects are in it, those included of whom nothing is on record any more.
    public var count: Int { state.withLock { $0.count } }

    /// Whether something is on record of the subject.
    public func knows(_ key: SubjectKey) -> Bool { number(of: key) > ConsentRecords.nothing }

    func number(of key: SubjectKey) -> Number { view.number(of: key) }

    /// For those who ask for every event. It owns nothing, so to pass it on costs nothing; valid while the records are.
    var view: View { View(tables: tables, tableCount: tableCount, troubles: troubles) }

    struct View: BitwiseCopyable {
        fileprivate let tables: UnsafePointer<SubjectTable>
        fileprivate let tableCount: UnsafePointer<UInt32>
        fileprivate let troubles: UnsafePointer<UInt32>

        @inline(__always) var isUnreadable: Bool { cplatform_load(troubles) != 0 }

        /// It will be asked for soon.
        @inline(__always) func prepare(_ key: SubjectKey) {
            // Nearly all stand in the largest table.
            tables[Int(cplatform_load(tableCount)) - 1].prepare(key)
        }

        @inline(__always) func number(of key: SubjectKey) -> Number {
            var index = Int(cplatform_load(tableCount)) - 1
            while index >= 0 {
                if let number = tables[index].number(of: key) { return number }
                index -= 1
            }
            return 0
        }
    }

    /// What is on record of the subject and of all that are tied to it, each once.
    public func terms(of key: SubjectKey) -> [ConsentTerms] {
        let number = number(of: key)
        if number == ConsentRecords.unreadable { return [.withdrawn] }
        return number == 0 ? [] : terms(number)
    }

    /// The number by which these terms are known from now on.
    func number(of terms: [ConsentTerms]) -> Number { state.withLock { number(of: terms, &$0) } }

    func terms(_ number: Number) -> [ConsentTerms] { state.withLock { $0.terms[Int(number)] } }
}
