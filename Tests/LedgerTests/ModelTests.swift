import ConsentGate
import Platform
import TestSupport
import Testing

@testable import Ledger

/// A simple model of the ledger. It keeps every decision, and computes what holds from scratch each time.
private struct Model: Equatable {
    struct Decision: Equatable {
        var terms: ConsentTerms
        var decided: Int64
    }
    static let levels = ["none", "essential", "analytics", "marketing"]
    var decisions: [String: [Decision]] = [:]
    /// Each id is in at most one set. A set has at least two ids.
    var persons: [Set<String>] = []

    func explicit(_ id: String) -> ConsentTerms? {
        guard let all = decisions[id], let last = all.map(\.decided).max() else { return nil }
        let latest = all.filter { $0.decided == last }.map(\.terms)
        return latest.dropFirst().reduce(latest[0]) { $0.stricter($1, levels: Model.levels) }
    }

    func person(_ id: String) -> Set<String> { persons.first { $0.contains(id) } ?? [id] }

    func effective(_ id: String) -> [ConsentTerms] { Set(person(id).compactMap(explicit)).sorted() }

    var all: [ShortHash: [ConsentTerms]] {
        let known = Set(decisions.keys).union(persons.flatMap { $0 })
        return Dictionary(uniqueKeysWithValues: known.map { (short($0), effective($0)) })
    }

    mutating func decide(_ id: String, _ terms: ConsentTerms, decided: Int64) {
        decisions[id, default: []].append(Decision(terms: terms, decided: decided))
    }

    mutating func withdraw(_ id: String, _ purposes: [String]?, decided: Int64) {
        decide(id, purposes.map { (explicit(id) ?? ConsentTerms()).refusing($0) } ?? .withdrawn, decided: decided)
    }

    mutating func tie(_ ids: [String], most: Int) {
        let joined = ids.reduce(into: Set<String>()) { $0.formUnion(person($1)) }
        guard joined.count > 1, joined.count <= most else { return }
        persons.removeAll { !$0.isDisjoint(with: joined) }
        persons.append(joined)
    }

    mutating func untie(_ id: String) {
        guard let index = persons.firstIndex(where: { $0.contains(id) }) else { return }
        persons[index].remove(id)
        if persons[index].count < 2 { persons.remove(at: index) }
    }
}

private enum Step {
    case set(String, ConsentTerms, Int64)
    case withdraw(String, [String]?, Int64)
    case tie([String])
    case untie(String)
    case batch([Step])

    static func random(_ chance: inout RandomSource, depth: Int = 0) -> Step {
        func id() -> String { "id-\(chance.next() % 12)" }
        func purposes() -> [String] { ["ads", "measure", "mail"].filter { _ in chance.next() % 2 == 0 } }
        let decided = seconds(Int64(chance.next() % 20))
        switch chance.next() % (depth == 0 ? 12 : 10) {
        case 0..<4:
            let level = (Model.levels + [nil])[Int(chance.next() % 5)]
            return .set(id(), ConsentTerms(level: level, granted: purposes(), denied: purposes(), version: "\(chance.next() % 2)"), decided)
        case 4..<6: return .withdraw(id(), chance.next() % 2 == 0 ? nil : purposes(), decided)
        case 6..<8: return .tie((0..<(1 + chance.next() % 3)).map { _ in id() })
        case 8..<10: return .untie(id())
        default: return .batch((0..<(1 + chance.next() % 5)).map { _ in random(&chance, depth: 1) })
        }
    }

    func apply(to model: inout Model, most: Int) {
        switch self {
        case .set(let id, let terms, let decided): model.decide(id, terms, decided: decided)
        case .withdraw(let id, let purposes, let decided): model.withdraw(id, purposes, decided: decided)
        case .tie(let ids): model.tie(ids, most: most)
        case .untie(let id): model.untie(id)
        case .batch(let steps): for step in steps { step.apply(to: &model, most: most) }
        }
    }

    /// Applies the step to the ledger, and updates a table by the changes that the ledger reports.
    func apply(to ledger: LedgerFile, _ table: inout [ShortHash: [ConsentTerms]]) throws(StorageFault) {
        func note(_ changes: [LedgerChange]) { for change in changes { table[change.short] = change.effective } }
        switch self {
        case .set(let id, let terms, let decided):
            note(try ledger.set(LedgerID(id), terms, decided: decided, origin: "test").changes)
        case .withdraw(let id, let purposes, let decided):
            note(try ledger.withdraw(LedgerID(id), purposes: purposes, decided: decided, origin: "test").changes)
        case .tie(let ids):
            if case .tied(let changes) = try ledger.tie(ids.map { LedgerID($0) }) { note(changes) }
        case .untie(let id): note(try ledger.untie(LedgerID(id)))
        case .batch(let steps):
            // The draft is used only if the whole transaction is written.
            var draft = table
            try ledger.write { () throws(StorageFault) in for step in steps { try step.apply(to: ledger, &draft) } }
            table = draft
        }
    }
}

private struct RandomSource {
    var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }
    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state >> 8
    }
}

private func known(_ table: [ShortHash: [ConsentTerms]]) -> [ShortHash: [ConsentTerms]] { table.filter { !$0.value.isEmpty } }

@Suite("The ledger, compared with a simple model")
struct ModelTests {
    private func open(_ folder: Folder, on disk: FaultyDisk) throws(StorageFault) -> LedgerFile {
        var options = options(vfs: disk.name)
        options.mostTied = 5
        return try LedgerFile(folder.ledger, options: options)!
    }

    @Test(
        "the ledger agrees with the model after every step, and so does a table that follows only the changes",
        arguments: 0..<rounds(60) as Range<UInt64>)
    func agrees(seed: UInt64) throws {
        // The faulty disk never waits for the real one.
        let disk = FaultyDisk()
        var chance = RandomSource(seed)
        let folder = Folder(inMemory: true)
        var ledger = try open(folder, on: disk)
        var model = Model()
        var table: [ShortHash: [ConsentTerms]] = [:]
        for number in 0..<80 {
            let step = Step.random(&chance)
            step.apply(to: &model, most: 5)
            try step.apply(to: ledger, &table)
            if chance.next() % 10 == 0 {
                if chance.next() % 2 == 0 { ledger.close() }
                ledger = try open(folder, on: disk)
            }
            let all = try ledger.all()
            try #require(all == model.all, "seed \(seed), step \(number): \(step)")
            try #require(known(table) == known(all), "seed \(seed), step \(number): \(step)")
        }
        for id in model.decisions.keys {
            let entry = try #require(try ledger.get(LedgerID(id)))
            #expect(entry.record?.terms == model.explicit(id))
            #expect(entry.effective == model.effective(id))
            #expect(Set(entry.ties.map(\.short)) == Set(model.person(id).subtracting([id]).map { short($0) }))
            #expect(entry.history.map(\.record.decided) == model.decisions[id]!.map(\.decided))
        }
    }

    @Test("the rule for two decisions of the same moment is commutative, associative and idempotent")
    func rule() {
        var chance = RandomSource(3)
        func any() -> ConsentTerms {
            if chance.next() % 10 == 0 { return .withdrawn }
            func purposes() -> [String] { ["ads", "measure", "mail"].filter { _ in chance.next() % 2 == 0 } }
            let level = (Model.levels + ["strange", "unheard of", nil])[Int(chance.next() % 7)]
            return ConsentTerms(level: level, granted: purposes(), denied: purposes(), version: "\(chance.next() % 2)")
        }
        for _ in 0..<5000 {
            let (a, b, c) = (any(), any(), any())
            func both(_ a: ConsentTerms, _ b: ConsentTerms) -> ConsentTerms { a.stricter(b, levels: Model.levels) }
            #expect(both(a, b) == both(b, a) && both(a, a) == a && both(a, both(a, b)) == both(a, b))
            #expect(both(a, both(b, c)) == both(both(a, b), c))
        }
    }

    private static let steps: [Step] = {
        var chance = RandomSource(7)
        return (0..<10).map { _ in Step.random(&chance) }
    }()

    /// Runs the steps until one fails. Returns the model of what was stored for certain, and the model after the step that failed.
    private func live(_ folder: Folder, _ disk: FaultyDisk) -> (stored: Model, perhaps: Model, fault: StorageFault?) {
        var stored = Model()
        var perhaps = stored
        var table: [ShortHash: [ConsentTerms]] = [:]
        let fault = fault { () throws(StorageFault) in
            let ledger = try open(folder, on: disk)
            for step in ModelTests.steps {
                step.apply(to: &perhaps, most: 5)
                try step.apply(to: ledger, &table)
                stored = perhaps
            }
            try ledger.tidy()
        }
        return (stored, perhaps, fault)
    }

    @Test(
        "no acknowledged write is lost, whichever disk call fails and however, and the ledger works again afterwards",
        arguments: FaultyDisk.Fault.allCases, [false, true])
    func everyCall(kind: FaultyDisk.Fault, stays: Bool) throws {
        let disk = FaultyDisk()
        #expect(live(Folder(inMemory: true), disk).fault == nil)
        let calls = disk.calls
        try #require(calls > 100)
        for call in places(below: calls) {
            let folder = Folder(inMemory: true)
            disk.fail(at: call, kind, stays: stays)
            let (stored, perhaps, fault) = live(folder, disk)
            disk.heal()
            #expect(disk.openFiles == 0, "call \(call): a file was left open")
            if let fault { #expect(fault.kind != .foreign && fault.kind != .damaged, "call \(call): \(fault)") }
            let again = try open(folder, on: disk)
            let found = try again.all()
            #expect(found == stored.all || found == perhaps.all, "call \(call): \(fault?.description ?? "no fault")")
            try again.withdraw(LedgerID("after"), origin: "test")
            #expect(try again.all()[short("after")] == [.withdrawn])
        }
    }

    @Test("all acknowledged writes survive a power failure, whatever the disk had not written yet")
    func powerCut() throws {
        let disk = FaultyDisk()
        for seed in 0..<rounds(120) as Range<UInt64> {
            let folder = Folder(inMemory: true)
            disk.heal()
            try open(folder, on: disk).close()
            disk.watchPower()
            disk.fail(at: Int64(seed * 7 % 160), .io, stays: true)
            let (stored, perhaps, _) = live(folder, disk)
            disk.cutPower(seed)
            disk.heal()
            let again = try open(folder, on: disk)
            let found = try again.all()
            #expect(found == stored.all || found == perhaps.all, "seed \(seed)")
            again.close()
        }
    }

    @Test("a new ledger exists completely or not at all if the power fails during its creation")
    func powerCutAtFirst() throws {
        let disk = FaultyDisk()
        for seed in 0..<60 as Range<UInt64> {
            let folder = Folder(inMemory: true)
            disk.watchPower()
            disk.fail(at: Int64(seed), .io, stays: true)
            let fault = fault { () throws(StorageFault) in try open(folder, on: disk).close() }
            disk.cutPower(seed)
            disk.heal()
            let again = try open(folder, on: disk)
            try again.withdraw(LedgerID("x"), origin: "test")
            again.close()
            if fault == nil { break }
        }
    }
}
