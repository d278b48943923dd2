import Seeded
import Testing

@testable import Admission
@testable import ConsentGate

@Suite("A table of subjects") struct SubjectTableTests {
    private func key(_ number: Int, group: UInt64) -> SubjectKey { SubjectKey(high: UInt64(number), low: group) }

    @Test("a table takes as many subjects as it promises, and finds each of them and no other", arguments: [0, 1, 17, 1000, 40_000])
    func all(capacity: Int) {
        var random = Seeded(state: UInt64(capacity))
        let table = SubjectTable(capacity: capacity)
        defer { table.deallocate() }
        #expect(table.capacity >= capacity)
        let keys = (0..<table.capacity * 2).map { _ in SubjectKey(high: random.next(), low: random.next()) }
        for (number, key) in keys.prefix(table.capacity).enumerated() { table.insert(key, UInt32(number)) }
        #expect(keys.enumerated().allSatisfy { table.number(of: $1) == ($0 < table.capacity ? UInt32($0) : nil) })
    }

    @Test("subjects that overflow into other groups are found, also from the last group to the first", arguments: [0, UInt64.max])
    func crowd(group: UInt64) {
        let table = SubjectTable(capacity: 20)
        defer { table.deallocate() }
        for number in 0..<20 { table.insert(key(number, group: group), UInt32(number)) }
        #expect((0..<20).allSatisfy { table.number(of: key($0, group: group)) == UInt32($0) })
        #expect(table.number(of: key(20, group: group)) == nil)
        #expect(table.number(of: key(1, group: UInt64.max / 2)) == nil)
    }

    @Test("changing a number affects only that subject, and only if it is in the table")
    func change() {
        let table = SubjectTable(capacity: 8)
        defer { table.deallocate() }
        table.insert(key(1, group: 0), 1)
        table.insert(key(2, group: 0), 2)
        #expect(table.change(key(2, group: 0), to: 7) && !table.change(key(3, group: 0), to: 7))
        #expect(table.number(of: key(1, group: 0)) == 1 && table.number(of: key(2, group: 0)) == 7)
        #expect(table.number(of: key(2, group: .max)) == nil)
    }
}
