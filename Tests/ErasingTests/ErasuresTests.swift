import Database
import Delivery
import Plans
import Platform
import Queueing
import StoreFixtures
import TestSupport
import Testing

@testable import Erasing

@Suite("A provider")
struct AskTests {
    @Test("is asked after the wait, in each member that may have held the id, and what it confirms ends the job and forgets the ids")
    func confirms() throws {
        let run = try Run()
        try run.begin(demand("person-1"))
        run.pass(.seconds(59))
        #expect(run.provider.requests.isEmpty)
        run.pass(.seconds(1))
        #expect(
            run.provider.requests.map(\.subjects) == [
                [
                    SubjectID(member: "userId", id: "person-1"), SubjectID(member: "anonymousId", id: "person-1"),
                ]
            ])
        #expect(run.provider.requests[0].deadlineMilliseconds == 30_000 && run.provider.requests[0].attempt == 1)
        run.answer(.delivered)
        let job = try run.only
        #expect(job.phase == .confirmed && job.ended != nil && job.next == nil && job.contents == nil)
        #expect(run.erasures.status.open.isEmpty)
        #expect(run.erasures.status.results == [ErasureCount(provider: "out", phase: .confirmed, jobs: 1)])
        run.pass(day)
        #expect(run.provider.asks.count == 1)
    }

    @Test("that is at work is asked again, after pauses that double, with the state that it returned last")
    func again() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.pass(.seconds(60))
        run.answer(atWork, state: "job 7")
        run.pass(.seconds(59))
        #expect(run.provider.asks.count == 1)
        run.pass(.seconds(1))
        #expect(run.provider.requests.map { String(decoding: $0.state, as: UTF8.self) } == ["", "job 7"])
        // An answer without a state leaves the last one.
        run.answer(.unknown(Answer("nobody answers")))
        run.pass(.seconds(119))
        #expect(run.provider.asks.count == 2)
        run.pass(.seconds(1))
        #expect(String(decoding: run.provider.requests[2].state, as: UTF8.self) == "job 7" && run.provider.requests[2].attempt == 3)
    }

    @Test("is asked after the wait even if the jobs began or were asked under a clock that was ahead")
    func clockAhead() throws {
        let wrong = try Run(time: ManualClock(wall: 900_000_000_000_000_000))
        try wrong.begin(demand("u1"))
        wrong.pass(.seconds(60))
        wrong.answer(atWork, state: "job 7")
        try wrong.begin(demand("u2"))
        wrong.erasures.close()
        let run = try Run(folder: wrong.folder)
        run.pass(.seconds(0))
        #expect(run.provider.asks.isEmpty)
        run.pass(.seconds(60))
        try #require(run.provider.requests.map(\.attempt) == [2])
        run.answer(.delivered)
        run.pass(.seconds(1))
        try #require(run.provider.requests.map(\.attempt) == [2, 1])
        run.answer(atWork)
        // The time after which a job is given up counts from the correction.
        run.pass(day * 31)
        #expect(try run.jobs.map(\.phase) == [.confirmed, .givenUp])
    }

    @Test("that names a pause is asked after it, and at least once a day")
    func pauses() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.pass(.seconds(60))
        run.answer(.retry(Answer(code: 429, "slower"), after: .seconds(600)))
        run.pass(.seconds(599))
        #expect(run.provider.asks.count == 1)
        run.pass(.seconds(1))
        run.answer(.retry(Answer(code: 429, "slower"), after: day * 900))
        run.pass(day)
        #expect(run.provider.asks.count == 3)
    }

    @Test("is asked only about what it has not confirmed, and a subject that it refuses needs a person")
    func parts() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.pass(.seconds(60))
        run.answer(atWork, events: [0: .delivered])
        run.pass(.seconds(60))
        #expect(run.provider.requests[1].subjects == [SubjectID(member: "anonymousId", id: "u1")])
        run.answer(.rejected(Answer("delete it in the console")))
        let job = try run.only
        #expect(job.phase == .byHand && job.words == "delete it in the console" && job.contents?.named == [NamedID("u1")])
        #expect(run.erasures.status.open == [ErasureCount(provider: "out", phase: .byHand, jobs: 1)])
        #expect(run.lines.contains { $0.contains("needs a person: delete it in the console") && !$0.contains("u1") })
    }

    @Test("that never confirms is given up after the time of consent.erasures.for, loudly, and its ids stay for a person")
    func givesUp() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        for _ in 0..<200 {
            run.pass(.seconds(6 * 3600))
            if let ask = run.provider.asks.last, try run.only.phase.isOpen {
                ask.done(ErasureAnswer(.fault(Answer(code: 401, "no such key"))))
            }
        }
        let job = try run.only
        #expect(job.phase == .givenUp && job.contents?.named == [NamedID("u1")] && job.next == nil)
        #expect(job.ended! - job.begun >= (day * 30).nanoseconds && job.ended! - job.begun < (day * 31).nanoseconds)
        #expect(run.lines.contains { $0.contains("was given up") && $0.contains("no such key") })
        #expect(run.lines.filter { $0.contains("the configuration is wrong") }.count == 1)
    }

    @Test("that does not answer in time counts as silent, is not asked twice at once, and its late answer changes nothing")
    func late() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.pass(.seconds(60))
        run.pass(.seconds(36))
        #expect(run.erasures.status.late == ["out"])
        #expect(try run.only.words == "no answer within the time of the call")
        run.pass(day)
        #expect(run.provider.asks.count == 1)
        run.answer(.delivered)
        #expect(try run.only.phase == .asked)
        run.pass(.zero)
        #expect(run.provider.asks.count == 2 && run.erasures.status.late.isEmpty)
    }

    @Test("that never answers is given up in time, and is asked again as soon as another instance has replaced it")
    func stuck() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        try run.begin(demand("u2"))
        run.pass(.seconds(60))
        run.pass(day * 29)
        #expect(run.provider.asks.count == 1)
        run.erasures.hasten(["out"])
        run.pass(.zero)
        #expect(run.provider.asks.count == 2)
        run.pass(day * 2)
        #expect(try run.jobs.map(\.phase) == [.givenUp, .givenUp])
    }

    @Test("that answers twice, or about subjects that it was not asked about, changes nothing by it")
    func strange() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.pass(.seconds(60))
        run.answer(atWork, events: [5: .delivered, 0: .filtered(.match)])
        run.answer(.delivered)
        run.answer(.delivered)
        let job = try run.only
        #expect(job.phase == .asked && job.contents?.subjects.map(\.state) == [.open, .open])
    }

    @Test("with deliveries from before the withdrawal in its hands is asked when they have ended")
    func hands() throws {
        let run = try Run()
        let before = run.provider.beginDelivery()
        try run.begin(demand("u1"))
        let after = run.provider.beginDelivery()
        run.pass(.seconds(60))
        #expect(try run.provider.asks.isEmpty && run.only.phase == .waiting)
        run.provider.endDelivery(before)
        run.pass(.seconds(1))
        #expect(run.provider.asks.count == 1)
        run.provider.endDelivery(after)
    }

    @Test("that has another module now, or is not configured any more, never gets the ids")
    func replaced() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.provider.become(plugin: "other")
        run.pass(.seconds(60))
        #expect(run.provider.asks.isEmpty)
        #expect(run.lines.contains { $0.contains("another module now") })
        run.present.withLock { $0 = plan(providers: ["elsewhere"]) }
        run.pass(day)
        #expect(try run.provider.asks.isEmpty && run.only.words == Erasures.absent)
    }
}

@Suite("A job")
struct JobTests {
    @Test("goes on after a kill before the ask, before the answer and after it")
    func kills() throws {
        let run = try Run()
        try run.begin(demand("u1", receipts: [4, 5]))
        try run.kill()
        run.pass(.seconds(60))
        #expect(run.provider.asks.count == 1)
        let lost = run.provider.asks[0]
        try run.kill()
        lost.done(ErasureAnswer(.delivered))
        run.pass(.zero)
        #expect(run.provider.asks.count == 2 && run.provider.requests[1].attempt == 2)
        run.answer(atWork, state: "job 7")
        try run.kill()
        run.pass(.seconds(120))
        #expect(String(decoding: run.provider.requests[2].state, as: UTF8.self) == "job 7")
        let job = try run.only
        #expect(job.receipts == [4, 5] && job.outOfReach == ["ids:ab12"] && job.origin == "command")
        run.answer(.delivered)
        try run.kill()
        #expect(try run.only.phase == .confirmed)
    }

    @Test("leaves no id in any file of the folder, neither while it is open nor after it has ended")
    func secrecy() throws {
        let run = try Run()
        try run.begin(demand("person-one"))
        run.pass(.seconds(60))
        run.answer(atWork, state: "state-of-person-one")
        #expect(!run.folder.holds("person-one"))
        run.pass(.seconds(60))
        run.answer(.delivered)
        run.erasures.close()
        #expect(!run.folder.holds("person-one") && run.folder.holds("confirmed"))
    }

    @Test("keeps and tells no id that an answer repeats, also not in a URL or a JSON text")
    func echoes() throws {
        let run = try Run()
        try run.begin(demand("p 1\"x@example.com"))
        run.pass(.seconds(60))
        run.answer(.rejected(Answer(code: 404, #"no {"id":"p 1\"x@example.com"} at /users/p%201%22x%40example.com"#)))
        #expect(try run.only.words == #"no {"id":"[…]"} at /users/[…]"#)
        #expect(!run.lines.contains { $0.contains("example.com") })
        run.erasures.close()
        #expect(!run.folder.holds("example.com"))
    }

    @Test("whose key is not configured waits, is kept, and goes on when the key is back")
    func otherKey() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.erasures.close()
        let other = try Run(folder: run.folder, time: run.time, key: 1)
        other.pass(.seconds(60))
        #expect(other.provider.asks.isEmpty)
        #expect(try other.only.isUnreadable && other.only.words == Erasures.unreadable)
        #expect(try other.erasures.again(1) == .isOpen)
        other.erasures.close()
        let back = try Run(folder: run.folder, time: run.time)
        back.pass(day)
        #expect(back.provider.asks.count == 1)
    }

    @Test("that was given up or left to a person can be asked again, and a person can say that it is done")
    func people() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.pass(.seconds(60))
        run.answer(.rejected(Answer("not here")))
        #expect(try run.erasures.again(1) == nil)
        #expect(try run.only.phase == .waiting)
        run.pass(.zero)
        #expect(run.provider.asks.count == 2)
        run.answer(.rejected(Answer("not here")))
        #expect(try run.erasures.settle(1))
        let job = try run.only
        #expect(job.phase == .done && job.contents == nil)
        #expect(try run.erasures.again(1) == .hasEnded && !run.erasures.settle(1) && run.erasures.again(2) == .unknown)
    }

    @Test("that a person ends during an ask is not revived by the answer")
    func endedMeanwhile() throws {
        let run = try Run()
        try run.begin(demand("u1"))
        run.pass(.seconds(60))
        #expect(try run.erasures.settle(1))
        run.answer(atWork)
        #expect(try run.only.phase == .done)
    }

    @Test("is kept by a file that is set aside as damaged, with what can be read, and the loss is reported")
    func damage() throws {
        let run = try Run()
        for number in 1...9 { try run.begin(demand("u\(number)")) }
        run.erasures.close()
        let shell = try Database(run.folder.path + "/erasures.sqlite", makes: false)
        try shell.run("UPDATE jobs SET provider = 'thief' WHERE id = 3")
        shell.close()
        let next = try Run(folder: run.folder, time: run.time)
        #expect(try next.jobs.map(\.number) == [1, 2, 4, 5, 6, 7, 8, 9])
        #expect(next.lines.contains { $0.contains("1 of 9 erasure jobs") && $0.contains("lost") }, "\(next.lines)")
        #expect(next.folder.files.contains { $0.hasPrefix("erasures.sqlite.damaged-") })
    }
}
