import Admission
import Configuration
import Platform
import Spool
import Testing

@testable import Router

private func subject(_ number: UInt64) -> SubjectKey { SubjectKey(high: 0, low: number) }

private func row(_ id: Int64, _ subjects: UInt64..., bytes: Int = 10, at arrival: Int64 = 0) -> HeldRow {
    var row = HeldRow(arrival: arrival, bytes: bytes, subjects: subjects.map(subject), routes: [0], source: "in")
    row.id = id
    return row
}

private func book(_ change: (inout HoldPlan) -> Void = { _ in }) -> Keeper {
    var plan = HoldPlan()
    plan.time = .seconds(100)
    change(&plan)
    return Keeper(HoldBook(plan))
}

/// Has the book, so that a test can expect something of what changes it.
@dynamicMemberLookup
private final class Keeper {
    var book: HoldBook
    init(_ book: HoldBook) { self.book = book }

    subscript<Value>(dynamicMember path: WritableKeyPath<HoldBook, Value>) -> Value {
        get { book[keyPath: path] }
        set { book[keyPath: path] = newValue }
    }
    subscript<Value>(dynamicMember path: KeyPath<HoldBook, Value>) -> Value { book[keyPath: path] }

    func take(_ row: HeldRow) -> Bool { book.take(row) }
    func add(_ row: HeldRow) { book.add(row) }
    func remove(_ row: HeldRow) { book.remove(row) }
    func note(oldest: Int64?) { book.note(oldest: oldest) }
    func expired(_ rows: [HeldRow], at now: Int64) { book.expired(rows, at: Instant(nanoseconds: seconds(now))) }
    func ask(_ subjects: [SubjectKey]) -> Bool { book.ask(subjects) }
    func begin(_ rows: [Int64]) { book.begin(rows) }
    func isOnItsWay(_ row: Int64) -> Bool { book.isOnItsWay(row) }
    func released(upTo next: Int64?) { book.released(upTo: next) }
    func settle(_ change: HoldChange) { book.settle(change) }
    func changed(_ change: HoldChange, at now: Int64) -> [HeldRow] { book.changed(change, at: Instant(nanoseconds: seconds(now))) }
    func failed(_ change: HoldChange, at now: Int64) { book.failed(change, at: Instant(nanoseconds: seconds(now))) }
    func destroy(_ row: HeldRow) -> Bool { book.destroy(row) }
    func stays(_ row: HeldRow) -> Bool { book.stays(row) }
    func end(hurried: Bool) { book.end(hurried: hurried) }
    func word(at second: Int64) -> String { book.word(at: second) }
}

private func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }

extension HoldBook {
    /// What is next at that second, in a word; nil: nothing yet. `wait`: until then.
    fileprivate mutating func word(at second: Int64) -> String {
        switch next(at: Instant(nanoseconds: seconds(second)), wall: seconds(second)) {
        case .ready(.change(let change)): "change \(change.remove.map(\.id)) \(change.narrow.map(\.id))"
        case .ready(.expire(let time)): "expire before \(time)"
        case .ready(.release(let subjects, let after)): "release \(subjects.map(\.low)) after \(after)"
        case .ready(.tidy): "tidy"
        case .ready(.end): "end"
        case .notBefore(let instant): "wait \(instant.map { "\($0.nanoseconds / 1_000_000_000)" } ?? "for ever")"
        }
    }
}

@Suite("The book of held events") struct HoldBookTests {
    @Test("takes what its bounds leave room for: in all, and of each subject, by number and by bytes")
    func bounds() {
        let events = book { $0.total.events = 3 }
        #expect((1...4).map { events.take(row($0, UInt64($0))) } == [true, true, true, false])
        events.remove(row(1, 1))
        #expect(events.take(row(5, 5)) && events.total == .init(events: 3, bytes: 30))
        let bytes = book { $0.total.bytes = 25 }
        #expect(
            [bytes.take(row(1, 1)), bytes.take(row(2, 2)), bytes.take(row(3, 3)), bytes.take(row(4, 4, bytes: 5))] == [
                true, true, false, true,
            ])
        let own = book { $0.subject = .init(events: 2, bytes: 15) }
        #expect([own.take(row(1, 1, 2, bytes: 5)), own.take(row(2, 2, bytes: 5)), own.take(row(3, 2, bytes: 1))] == [true, true, false])
        #expect(!own.take(row(4, 1, bytes: 11)) && own.take(row(5, 1, bytes: 10)))
        #expect(own.total == .init(events: 3, bytes: 20))
    }

    @Test("waits for the end of the oldest event's time, and for nothing when none waits")
    func expiry() {
        let book = book()
        #expect(book.word(at: 5) == "wait for ever")
        book.add(row(1, 1, at: seconds(10)))
        book.add(row(2, 2, at: seconds(7)))
        #expect(book.word(at: 20) == "wait 107")
        #expect(book.word(at: 107) == "expire before \(seconds(7) + 1)")
        book.note(oldest: seconds(10))
        book.expired([row(2, 2)], at: 107)
        #expect(book.word(at: 107) == "wait 108" && book.word(at: 108) == "tidy" && book.word(at: 108) == "wait 110")
        book.bounds.time = .seconds(50)
        #expect(book.word(at: 108) == "expire before \(seconds(58) + 1)", "a reload's bounds hold for what waits")
    }

    @Test("does not look every moment for what is overdue and on its way to a lane")
    func overdue() {
        let book = book()
        book.add(row(1, 1))
        book.begin([1])
        #expect(book.word(at: 100).hasPrefix("expire"))
        book.expired([], at: 100)
        #expect(book.word(at: 100) == "wait 101" && book.word(at: 101).hasPrefix("expire"))
    }

    @Test("releases the events of those who have answered, together, page by page, and of nobody else")
    func release() {
        let book = book()
        for id in 1...3 { book.add(row(Int64(id), UInt64(id))) }
        #expect(!book.ask([subject(9)]), "nobody waits for it")
        #expect(book.ask([subject(2), subject(1)]) && !book.ask([subject(1)]))
        #expect(book.word(at: 1) == "release [2, 1] after 0")
        #expect(book.ask([subject(2)]), "it may have said something else meanwhile")
        book.released(upTo: 7)
        #expect(book.word(at: 1) == "release [2, 1] after 7")
        book.released(upTo: nil)
        #expect(book.word(at: 1) == "release [2] after 0")
        book.released(upTo: nil)
        #expect(book.word(at: 1) == "wait 100")
    }

    @Test("changes the file when the lanes have what was released, and again after a moment when that failed")
    func change() {
        let book = book()
        book.add(row(1, 1))
        book.begin([1])
        #expect(book.isOnItsWay(1))
        book.settle(HoldChange(remove: [row(1, 1)]))
        #expect(book.word(at: 1) == "change [1] []" && book.isOnItsWay(1))
        book.failed(HoldChange(remove: [row(1, 1)]), at: 1)
        #expect(book.word(at: 1) == "wait 2" && book.word(at: 2) == "change [1] []")
        #expect(book.changed(HoldChange(remove: [row(1, 1)]), at: 2) == [])
        #expect(!book.isOnItsWay(1) && book.total.events == 0)
        #expect(book.word(at: 2) == "wait 3" && book.word(at: 3) == "tidy" && book.word(at: 3) == "wait for ever")
    }

    @Test("releases nothing while a withdrawal has not seen to what is held")
    func withdrawal() {
        let book = book()
        for id in 1...3 { book.add(row(Int64(id), 1)) }
        book.book.beginWithdrawal()
        _ = book.ask([subject(1)])
        #expect(book.word(at: 1) == "wait 100")
        book.begin([1, 2])
        #expect(!book.destroy(row(1, 1)) && book.destroy(row(3, 1)), "what is on its way belongs to who judges it")
        #expect(!book.stays(row(1, 1)) && book.stays(row(2, 1)) && book.total.events == 2)
        book.book.endWithdrawal()
        #expect(book.word(at: 1) == "release [1] after 0")
    }

    @Test("tells what was to wait for other routes, and a withdrawal has destroyed meanwhile")
    func narrowed() {
        let book = book()
        book.add(row(1, 1))
        book.begin([1])
        #expect(!book.destroy(row(1, 1)))
        #expect(book.changed(HoldChange(narrow: [row(1, 1)]), at: 0) == [row(1, 1)])
        #expect(book.total.events == 0)
    }

    @Test("ends when everybody who has answered is seen to, and at once when there is no time")
    func end() {
        let book = book()
        book.add(row(1, 1))
        _ = book.ask([subject(1)])
        book.end(hurried: false)
        #expect(book.word(at: 1) == "release [1] after 0")
        book.released(upTo: nil)
        #expect(book.word(at: 1) == "end")
        _ = book.ask([subject(1)])
        book.end(hurried: true)
        #expect(book.word(at: 1) == "end")
    }
}
