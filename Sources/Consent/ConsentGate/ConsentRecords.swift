// The consent records of all subjects, in memory, for the gate. A lookup takes no lock and does not wait for a writer. There are many
// subjects, and few different terms: a table holds a number for each subject, and each list of terms is stored once.
//
// A table never moves. When it is full, another one of twice its size is added. A subject stays in the table that it was put into. So a
// lookup looks into the tables one after the other, the largest first. Most subjects are in that one.

public import Admission
internal import CPlatform
internal import Platform

public final class ConsentRecords: @unchecked Sendable {
    /// The number of a list of terms. It is 0 if the subject is not in a table.
    typealias Number = UInt32
    /// The number of the empty list: the subject is in a table, but nothing is on record for it.
    static let nothing: Number = 1
    /// The number of all further lists when there are too many different ones. Such a subject is denied as unreadable.
    static let unreadable: Number = .max

    /// The maximum number of different lists of terms.
    private static let mostTerms = 1 << 16
    private static let mostTables = 40

    // The tables are changed under the lock. Readers read `tableCount` first, without the lock.
    private let tables: UnsafeMutablePointer<SubjectTable>
    private let tableCount: UnsafeMutablePointer<UInt32>
    /// The reasons why no record counts, as bits. It is 0 if the records count.
    private let troubles: UnsafeMutablePointer<UInt32>
    /// The number of changes of the terms and of the troubles.
    private let changes = ChangeCounter()
    private let state: Monitor<State>

    private struct State {
        var terms: [[ConsentTerms]] = [[], []]
        var numbers: [[ConsentTerms]: Number] = [[]: ConsentRecords.nothing]
        var count = 0
        /// The number of subjects that the last table still takes. It is not in the table, because readers copy the table without the lock.
        var free: Int
    }

    /// Makes empty records. `capacity` is the expected number of subjects.
    public init(capacity: Int = 0) {
        tables = .allocate(capacity: ConsentRecords.mostTables)
        tableCount = .allocate(capacity: 1)
        troubles = .allocate(capacity: 1)
        tables.initialize(to: SubjectTable(capacity: capacity))
        tableCount.initialize(to: 1)
        troubles.initialize(to: 0)
        state = Monitor(State(free: tables.pointee.capacity))
    }

    deinit {
        for index in 0..<Int(tableCount.pointee) { tables[index].deallocate() }
        tables.deallocate()
        tableCount.deallocate()
        troubles.deallocate()
    }

    // MARK: - Writing

    /// Sets the terms of a subject: those of its own and of all ids tied to it, without duplicates. An empty list means that nothing is on
    /// record.
    public func set(_ key: SubjectKey, _ terms: [ConsentTerms]) {
        state.withLock { state in
            defer { changes.advance() }
            let number = number(of: terms, &state)
            for index in 0..<Int(tableCount.pointee) where tables[index].change(key, to: number) { return }
            // A subject without a record does not need a place in a table.
            if number == ConsentRecords.nothing { return }
            assert(state.free >= 0, "a table took more subjects than it has places for")
            if state.free == 0 { state.free = grow() }
            tables[Int(tableCount.pointee) - 1].insert(key, number)
            state.free -= 1
            state.count += 1
        }
    }

    /// Adds a table and returns the number of subjects that it takes.
    private func grow() -> Int {
        let count = Int(tableCount.pointee)
        precondition(count < ConsentRecords.mostTables, "there are more subjects than fit into memory")
        (tables + count).initialize(to: SubjectTable(capacity: tables[count - 1].capacity * 2))
        cplatform_store(tableCount, UInt32(count + 1))
        return tables[count].capacity
    }

    private func number(of terms: [ConsentTerms], _ state: inout State) -> Number {
        if let known = state.numbers[terms] { return known }
        guard state.terms.count < ConsentRecords.mostTerms else { return ConsentRecords.unreadable }
        state.terms.append(terms)
        let number = Number(state.terms.count - 1)
        state.numbers[terms] = number
        return number
    }

    /// While this is true, no record counts and everyone is denied.
    public var isUnreadable: Bool {
        get { view.isUnreadable }
        set { set(ConsentRecords.isDamaged, newValue) }
    }

    /// While this is set, no record counts, because the clock is behind and the latest decision cannot be known. It reads as false if the
    /// records are also damaged.
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
            changes.advance()
        }
    }

    // MARK: - Reading

    /// The number of changes so far. A lookup after it was read finds all of them. Reading it takes no lock.
    var changeCount: UInt32 { changes.value }

    /// The number of subjects in the tables, including those without a record.
    public var count: Int { state.withLock { $0.count } }

    /// True if something is on record for the subject.
    public func knows(_ key: SubjectKey) -> Bool { number(of: key) > ConsentRecords.nothing }

    func number(of key: SubjectKey) -> Number { view.number(of: key) }

    /// A view for lookups on every event. It owns nothing, so passing it costs nothing. It is valid as long as the records are.
    var view: View { View(tables: tables, tableCount: tableCount, troubles: troubles) }

    struct View: BitwiseCopyable {
        fileprivate let tables: UnsafePointer<SubjectTable>
        fileprivate let tableCount: UnsafePointer<UInt32>
        fileprivate let troubles: UnsafePointer<UInt32>

        @inline(__always) var isUnreadable: Bool { cplatform_load(troubles) != 0 }

        /// Prefetches the table entry of a subject that will be looked up soon.
        @inline(__always) func prepare(_ key: SubjectKey) {
            // Most subjects are in the largest table.
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

    /// Returns the terms of the subject and of all ids tied to it, without duplicates.
    public func terms(of key: SubjectKey) -> [ConsentTerms] {
        let number = number(of: key)
        if number == ConsentRecords.unreadable { return [.withdrawn] }
        return number == 0 ? [] : terms(number)
    }

    /// Returns the number of these terms, and gives them one if needed.
    func number(of terms: [ConsentTerms]) -> Number { state.withLock { number(of: terms, &$0) } }

    func terms(_ number: Number) -> [ConsentTerms] {
        assert(number != 0 && number != ConsentRecords.unreadable, "a number has no terms")
        return state.withLock { $0.terms[Int(number)] }
    }
}
