import Admission
import HeldEventStore
import Plans
import Platform
import Testing

@testable import Holding

private func subject(_ number: UInt64) -> SubjectKey { SubjectKey(high: 0, low: number) }

private func row(_ id: Int64, _ subjects: UInt64..., bytes: Int = 10, at arrival: Int64 = 0) -> HeldRow {
    var row = HeldRow(arrival: arrival, bytes: bytes, subjects: subjects.map(subject), routes: [0], source: "in")
    row.id = id
    return row
}

private func heldIndex(_ change: (inout HoldPlan) -> Void = { _ in }) -> IndexBox {
    var plan = HoldPlan()
    plan.time = .seconds(100)
    change(&plan)
    return IndexBox(HeldIndex(plan))
}

/// Owns the index, so that `#expect` can call the functions that change it.
@dynamicMemberLookup
private final class IndexBox {
    var heldIndex: HeldIndex
    init(_ heldIndex: HeldIndex) { self.heldIndex = heldIndex }

    subscript<Value>(dynamicMember path: WritableKeyPath<HeldIndex, Value>) -> Value {
        get { heldIndex[keyPath: path] }
        set { heldIndex[keyPath: path] = newValue }
    }
    subscript<Value>(dynamicMember path: KeyPath<HeldIndex, Value>) -> Value { heldIndex[keyPath: path] }

    func take(_ row: HeldRow) -> Bool { heldIndex.take(row) }
    func add(_ row: HeldRow) { heldIndex.add(row) }
    func remove(_ row: HeldRow) { heldIndex.remove(row) }
    func note(oldest: Int64?) { heldIndex.note(oldest: oldest) }
    func expired(_ rows: [HeldRow], at now: Int64) { heldIndex.expired(rows, at: Instant(nanoseconds: seconds(now))) }
    func ask(_ subjects: [SubjectKey]) -> Bool { heldIndex.ask(subjects) }
    func begin(_ rows: [Int64]) { heldIndex.begin(rows) }
    func isOnItsWay(_ row: Int64) -> Bool { heldIndex.isOnItsWay(row) }
    func released(upTo next: Int64?) { heldIndex.released(upTo: next) }
    func settle(_ change: HeldChange) { heldIndex.settle(change) }
    func changed(_ change: HeldChange, at now: Int64) -> [HeldRow] { heldIndex.changed(change, at: Instant(nanoseconds: seconds(now))) }
    func failed(_ change: HeldChange, at now: Int64) { heldIndex.failed(change, at: Instant(nanoseconds: seconds(now))) }
    func destroy(_ row: HeldRow) -> Bool { heldIndex.destroy(row) }
    func stays(_ row: HeldRow) -> Bool { heldIndex.stays(row) }
    func end(hurried: Bool) { heldIndex.end(hurried: hurried) }
    func word(at second: Int64) -> String { heldIndex.word(at: second) }
}

private func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }

extension HeldIndex {
    /// Describes the next step at that second. `wait` names the second until which no step is due.
    fileprivate mutating func word(at second: Int64) -> String {
        switch next(at: Instant(nanoseconds: seconds(second)), wall: seconds(second)) {
        case .ready(.change(let change)): "change \(change.remove.map(\.id)) \(change.narrow.map(\.id))"
        case .ready(.expire(let time)): "expire before \(time)"
        case .ready(.age(let time)): "age at \(time / 1_000_000_000)"
        case .ready(.release(let subjects, let after)): "release \(subjects.map(\.low)) after \(after)"
        case .ready(.tidy): "tidy"
        case .ready(.end): "end"
        case .notBefore(let instant): "wait \(instant.map { "\($0.nanoseconds / 1_000_000_000)" } ?? "for ever")"
        }
    }
}

@Suite("The index of held events") struct HeldIndexTests {
    @Test("rows are looked through when the oldest reaches the shortest limit, and then after pauses")
    func ageing() {
        var plan = HoldPlan()
        plan.time = .seconds(100_000)
        var index = HeldIndex(plan, shortestLimit: seconds(1000))
        #expect(index.word(at: 5) == "wait for ever")
        index.add(row(1, 1, at: seconds(100)))
        index.add(row(2, 2, at: seconds(200)))
        #expect(index.word(at: 500) == "wait 1100")
        #expect(index.word(at: 1100) == "age at 1100")
        index.aged([row(1, 1, at: seconds(100))], narrowed: false, at: Instant(nanoseconds: seconds(1100)))
        index.note(oldest: seconds(200))
        #expect(index.word(at: 1101) == "tidy")
        #expect(index.word(at: 1102) == "wait 1200")
        // The oldest row waits for routes without a limit, so it stays.
        #expect(index.word(at: 1200) == "age at 1200")
        index.aged([], narrowed: false, at: Instant(nanoseconds: seconds(1200)))
        #expect(index.word(at: 1201) == "wait 1210")
        index.shortestLimit = nil
        #expect(index.word(at: 5000) == "wait 100200")
    }

    @Test("a row is taken if it fits the limits for all events and for each of its subjects, in number and in bytes")
    func bounds() {
        let events = heldIndex { $0.total.events = 3 }
        #expect((1...4).map { events.take(row($0, UInt64($0))) } == [true, true, true, false])
        events.remove(row(1, 1))
        #expect(events.take(row(5, 5)) && events.total == .init(events: 3, bytes: 30))
        let bytes = heldIndex { $0.total.bytes = 25 }
        #expect(
            [bytes.take(row(1, 1)), bytes.take(row(2, 2)), bytes.take(row(3, 3)), bytes.take(row(4, 4, bytes: 5))] == [
                true, true, false, true,
            ])
        let own = heldIndex { $0.subject = .init(events: 2, bytes: 15) }
        #expect([own.take(row(1, 1, 2, bytes: 5)), own.take(row(2, 2, bytes: 5)), own.take(row(3, 2, bytes: 1))] == [true, true, false])
        #expect(!own.take(row(4, 1, bytes: 11)) && own.take(row(5, 1, bytes: 10)))
        #expect(own.total == .init(events: 3, bytes: 20))
    }

    @Test("the index waits until the oldest event expires, and forever if there is none")
    func expiry() {
        let heldIndex = heldIndex()
        #expect(heldIndex.word(at: 5) == "wait for ever")
        heldIndex.add(row(1, 1, at: seconds(10)))
        heldIndex.add(row(2, 2, at: seconds(7)))
        #expect(heldIndex.word(at: 20) == "wait 107")
        #expect(heldIndex.word(at: 107) == "expire before \(seconds(7) + 1)")
        heldIndex.note(oldest: seconds(10))
        heldIndex.expired([row(2, 2)], at: 107)
        #expect(heldIndex.word(at: 107) == "wait 108" && heldIndex.word(at: 108) == "tidy" && heldIndex.word(at: 108) == "wait 110")
        heldIndex.bounds.time = .seconds(50)
        #expect(heldIndex.word(at: 108) == "expire before \(seconds(58) + 1)", "a reload's limits hold for waiting events")
    }

    @Test("an expired row that is on its way to a lane is checked again only after a pause")
    func overdue() {
        let heldIndex = heldIndex()
        heldIndex.add(row(1, 1))
        heldIndex.begin([1])
        #expect(heldIndex.word(at: 100).hasPrefix("expire"))
        heldIndex.expired([], at: 100)
        #expect(heldIndex.word(at: 100) == "wait 101" && heldIndex.word(at: 101).hasPrefix("expire"))
    }

    @Test("the events of subjects that have answered are released together, page by page, and no others")
    func release() {
        let heldIndex = heldIndex()
        for id in 1...3 { heldIndex.add(row(Int64(id), UInt64(id))) }
        #expect(!heldIndex.ask([subject(9)]), "no event waits for it")
        #expect(heldIndex.ask([subject(2), subject(1)]) && !heldIndex.ask([subject(1)]))
        #expect(heldIndex.word(at: 1) == "release [2, 1] after 0")
        #expect(heldIndex.ask([subject(2)]), "it may have answered again meanwhile")
        heldIndex.released(upTo: 7)
        #expect(heldIndex.word(at: 1) == "release [2, 1] after 7")
        heldIndex.released(upTo: nil)
        #expect(heldIndex.word(at: 1) == "release [2] after 0")
        heldIndex.released(upTo: nil)
        #expect(heldIndex.word(at: 1) == "wait 100")
    }

    @Test("the file is changed when the lanes have the released events, and a failed change is repeated after a pause")
    func change() {
        let heldIndex = heldIndex()
        heldIndex.add(row(1, 1))
        heldIndex.begin([1])
        #expect(heldIndex.isOnItsWay(1))
        heldIndex.settle(HeldChange(remove: [row(1, 1)]))
        #expect(heldIndex.word(at: 1) == "change [1] []" && heldIndex.isOnItsWay(1))
        heldIndex.failed(HeldChange(remove: [row(1, 1)]), at: 1)
        #expect(heldIndex.word(at: 1) == "wait 2" && heldIndex.word(at: 2) == "change [1] []")
        #expect(heldIndex.changed(HeldChange(remove: [row(1, 1)]), at: 2) == [])
        #expect(!heldIndex.isOnItsWay(1) && heldIndex.total.events == 0)
        #expect(heldIndex.word(at: 2) == "wait 3" && heldIndex.word(at: 3) == "tidy" && heldIndex.word(at: 3) == "wait for ever")
    }

    @Test("nothing is released until a withdrawal has swept the held events")
    func withdrawal() {
        let heldIndex = heldIndex()
        for id in 1...3 { heldIndex.add(row(Int64(id), 1)) }
        heldIndex.heldIndex.beginWithdrawal()
        _ = heldIndex.ask([subject(1)])
        #expect(heldIndex.word(at: 1) == "wait 100")
        heldIndex.begin([1, 2])
        #expect(!heldIndex.destroy(row(1, 1)) && heldIndex.destroy(row(3, 1)), "a row on its way is counted by the thread that judges it")
        #expect(!heldIndex.stays(row(1, 1)) && heldIndex.stays(row(2, 1)) && heldIndex.total.events == 2)
        heldIndex.heldIndex.endWithdrawal()
        #expect(heldIndex.word(at: 1) == "release [1] after 0")
    }

    @Test("a change reports rows that were to wait for other routes and that a withdrawal has destroyed meanwhile")
    func narrowed() {
        let heldIndex = heldIndex()
        heldIndex.add(row(1, 1))
        heldIndex.begin([1])
        #expect(!heldIndex.destroy(row(1, 1)))
        #expect(heldIndex.changed(HeldChange(narrow: [row(1, 1)]), at: 0) == [row(1, 1)])
        #expect(heldIndex.total.events == 0)
    }

    @Test("the index ends after all answers are handled, and at once if it is hurried")
    func end() {
        let heldIndex = heldIndex()
        heldIndex.add(row(1, 1))
        _ = heldIndex.ask([subject(1)])
        heldIndex.end(hurried: false)
        #expect(heldIndex.word(at: 1) == "release [1] after 0")
        heldIndex.released(upTo: nil)
        #expect(heldIndex.word(at: 1) == "end")
        _ = heldIndex.ask([subject(1)])
        heldIndex.end(hurried: true)
        #expect(heldIndex.word(at: 1) == "end")
    }
}
