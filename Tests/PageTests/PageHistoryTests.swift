import Testing

@testable import Page

private func reading(_ lane: String, waiting: Int = 0, age: Double? = nil, delivered: Int = 0, errors: Int = 0, ages: [Int] = [0, 0])
    -> PageHistory.Reading
{
    PageHistory.Reading(lane: lane, waiting: waiting, age: age, delivered: delivered, errors: errors, bounds: [0.5], ages: ages)
}

@Suite("The last hours of the lanes")
struct PageHistoryTests {
    @Test("have what waits, and how much was delivered and failed since the sample before")
    func samples() {
        var history = PageHistory()
        history.add([reading("out", waiting: 3, age: 1.25, delivered: 10, errors: 2, ages: [10, 0])])
        history.add([reading("out", waiting: 1200, delivered: 15, errors: 2, ages: [12, 3])])
        #expect(
            history.json(after: 0)
                == #"{"every_s":30,"first":1,"last":2,"lanes":[{"provider":"out","events":[3,1200],"oldest_age_s":[1.250,0],"#
                + #""delivered":[null,5],"errors":[null,0],"half_by_s":[null,0.500]}]}"# + "\n")
        #expect(history.json(after: 1).contains(#""first":2,"last":2,"lanes":[{"provider":"out","events":[1200]"#))
        #expect(history.json(after: 7).contains(#""events":[]"#))
    }

    @Test("of a lane that came later or was away are not known")
    func gaps() {
        var history = PageHistory()
        history.add([reading("a", waiting: 1)])
        history.add([reading("b", waiting: 2)])
        history.add([reading("a", waiting: 3), reading("b", waiting: 4)])
        let json = history.json(after: 0)
        #expect(json.contains(#""provider":"a","events":[1,null,3]"#) && json.contains(#""provider":"b","events":[null,2,4]"#))
    }

    @Test("of a lane that counts anew begin anew")
    func anew() {
        var history = PageHistory()
        history.add([reading("a", delivered: 10)])
        history.add([reading("a", delivered: 3)])
        history.add([reading("a", delivered: 5)])
        #expect(history.json(after: 0).contains(#""delivered":[null,null,2]"#))
    }

    @Test("are 720 samples at most, and the oldest ones go")
    func ring() {
        var history = PageHistory()
        for number in 1...1000 { history.add([reading("a", waiting: number)]) }
        let json = history.json(after: 0)
        #expect(json.contains(#""first":281,"last":1000"#) && json.contains(#""events":[281,282,"#) && json.contains(",999,1000]"))
        for number in 1001...1719 { history.add(number == 1001 ? [reading("b", waiting: number)] : []) }
        #expect(history.json(after: 0).contains(#""provider":"a""#) && history.json(after: 0).contains(#""provider":"b""#))
        history.add([])
        #expect(!history.json(after: 0).contains(#""provider":"a""#))
        history.add([])
        #expect(!history.json(after: 0).contains(#""provider":"b""#))
    }

    @Test("are of 64 lanes at most")
    func lanes() {
        var history = PageHistory()
        history.add((0..<100).map { reading("lane \($0)") })
        #expect(history.json(after: 0).split(separator: "provider").count == 65)
    }
}
