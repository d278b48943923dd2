import Platform
import Testing

@testable import Platform

@Suite("A budget of lines")
struct LineBudgetTests {
    private func second(_ number: Double) -> Instant { Instant(nanoseconds: Int64(number * 1_000_000_000)) }

    @Test("allows a burst, then the lines of each second together, and reports how many were left out")
    func bucket() {
        var budget = LineBudget(burst: 3, perSecond: 2)
        func take(_ now: Instant) -> LineBudget.Verdict { budget.take(at: now) }
        for _ in 0..<3 { #expect(take(second(5)) == .said(leftOut: 0)) }
        #expect(take(second(5)) == .leftOut(isFirst: true))
        #expect(take(second(5.9)) == .leftOut(isFirst: false))
        #expect(take(second(6)) == .said(leftOut: 2))
        #expect(take(second(6)) == .said(leftOut: 0))
        #expect(take(second(6)) == .leftOut(isFirst: true))
        let (left, rest) = (budget.takeLeftOut(), budget.takeLeftOut())
        #expect(left == 1 && rest == 0)
    }

    @Test("never exceeds the burst, even if the clock goes back or jumps to its end")
    func bounds() {
        var budget = LineBudget(burst: 2, perSecond: 1)
        func take(_ now: Instant) -> LineBudget.Verdict { budget.take(at: now) }
        #expect(take(second(10)) == .said(leftOut: 0))
        #expect(take(second(0)) == .said(leftOut: 0))
        #expect(take(second(9)) == .leftOut(isFirst: true))
        #expect(take(Instant(nanoseconds: .max)) == .said(leftOut: 1))
        #expect(take(Instant(nanoseconds: .max)) == .said(leftOut: 0))
        #expect(take(Instant(nanoseconds: .max)) == .leftOut(isFirst: true))
    }

    @Test("without lines per second reports nothing after its burst")
    func burstOnly() {
        var budget = LineBudget(burst: 1, perSecond: 0)
        func take(_ now: Instant) -> LineBudget.Verdict { budget.take(at: now) }
        func leavesOut(_ now: Instant) -> Bool { budget.leavesOut(5, at: now) }
        #expect(take(second(0)) == .said(leftOut: 0))
        #expect(take(second(1)) == .leftOut(isFirst: true))
        #expect(take(second(1000)) == .leftOut(isFirst: false))
        #expect(leavesOut(second(1_000_000)))
        #expect(take(Instant(nanoseconds: .max)) == .leftOut(isFirst: false))
        let left = budget.takeLeftOut()
        #expect(left == 8)
    }

    @Test("counts many lines in one step, but only while lines are left out")
    func many() {
        var budget = LineBudget(burst: 1, perSecond: 1)
        func take(_ now: Instant) -> LineBudget.Verdict { budget.take(at: now) }
        func leavesOut(_ now: Instant) -> Bool { budget.leavesOut(1000, at: now) }
        #expect(!leavesOut(second(0)))
        _ = take(second(0))
        _ = take(second(0))
        #expect(leavesOut(second(0.5)))
        #expect(!leavesOut(second(1)))
        #expect(take(second(1)) == .said(leftOut: 1001))
    }
}

@Suite("The standard error of a program")
struct ErrorLinesTests {
    private func hear(_ pieces: [String], _ budget: LineBudget = LineBudget()) -> [String] {
        let heard = Monitor<[String]>([])
        var lines = ErrorLines(budget) { one in
            let text =
                switch one {
                case .line(let bytes): String(decoding: bytes, as: UTF8.self)
                case .tooMany(let most): "more than \(most)"
                case .leftOut(let count): "\(count) left out"
                }
            heard.withLock { $0.append(text) }
        }
        for piece in pieces { lines.take(Array(piece.utf8)[...], at: Instant(nanoseconds: 0)) }
        lines.end()
        return heard.withLock { $0 }
    }

    @Test("is split into lines, however it was written; the last line needs no newline")
    func lines() { #expect(hear(["on", "e\r\n\n\ntw", "o\nthree\nfo", "ur"]) == ["one", "two", "three", "four"]) }

    @Test("has a largest line length, and further bytes are not kept")
    func long() {
        let piece = String(repeating: "x", count: 5000)
        #expect(hear(Array(repeating: piece, count: 100) + ["\nnext\n"]).map(\.utf8.count) == [ErrorPipe.mostBytes, 4])
    }

    @Test("is only counted when there are too many lines")
    func flood() {
        let flood = String(repeating: "line\n", count: 20_000)
        let budget = LineBudget(burst: 2, perSecond: 1)
        #expect(hear(["first\n" + flood, flood + "last"], budget) == ["first", "line", "more than 1", "40000 left out"])
    }
}
