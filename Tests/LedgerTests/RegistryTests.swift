import Admission
import ConsentGate
import Platform
import TestSupport
import Testing

@testable import Ledger

@Suite("The registry of a ledger")
struct RegistryTests {
    let folder = Folder()

    /// Collects the news of the registry, one word for each.
    private func words(_ registry: Registry) -> Monitor<[String]> {
        let told = Monitor<[String]>([])
        registry.watch { news in
            told.withLock { told in
                switch news {
                case .damaged: told.append("damaged")
                case .clockBehind(let now, let last): told.append("behind \(now / 1_000_000_000) \(last / 1_000_000_000)")
                case .clockRight: told.append("right")
                }
            }
        }
        return told
    }

    @Test(
        "reports each change at the same depth of the stack",
        .disabled(if: isSanitized, "the address sanitizer keeps local variables outside of the stack"))
    func depth() throws {
        let registry = try Registry(ledger(folder))
        let depths = Monitor<Set<UInt>>([])
        let changes = Monitor(0)
        registry.onChange { _ in
            changes.withLock { $0 += 1 }
            depths.withLock { _ = $0.insert(stackAddress()) }
        }
        for _ in 0..<100 { registry.publish([LedgerChange(short: ShortHash(high: 0, low: 0), effective: [])]) }
        #expect(changes.withLock { $0 } == 100)
        #expect(depths.withLock { $0.count } == 1)
    }

    @Test("records do not count while the clock is behind the last write, and each change is reported once")
    func clock() throws {
        let testClock = TestClock(10_000)
        let registry = try Registry(ledger(folder, testClock))
        let told = words(registry)
        _ = try registry.use { file throws(StorageFault) in
            let outcome = try file.set(LedgerID("x"), analytics, origin: "command")
            return (outcome.holds, outcome.changes)
        }
        for time in [10_000, 9_700, 10_500] as [Int64] { registry.note(time: seconds(time)) }
        #expect(!registry.records.isUnreadable && told.withLock { $0 } == [])
        for time in [9_699, 9_000, 9_699] as [Int64] { registry.note(time: seconds(time)) }
        #expect(registry.records.isClockBehind && told.withLock { $0 } == ["behind 9699 10000"])
        registry.note(time: seconds(9_700))
        #expect(!registry.records.isUnreadable && told.withLock { $0 } == ["behind 9699 10000", "right"])
        registry.close()
    }

    @Test("a clock that is behind at the opening is reported to a new watcher, and records count when the clock is believed")
    func start() throws {
        let testClock = TestClock(10_000)
        var file = try ledger(folder, testClock)
        try file.set(LedgerID("x"), analytics, origin: "command")
        file.close()
        testClock.seconds = 1000
        file = try ledger(folder, testClock)
        let registry = try Registry(file)
        #expect(registry.records.isClockBehind)
        let told = words(registry)
        registry.note(time: seconds(1000))
        #expect(told.withLock { $0 } == ["behind 1000 10000"])
        try registry.use { file throws(StorageFault) in
            try file.believeClock()
            return ((), [])
        }
        #expect(!registry.records.isUnreadable && told.withLock { $0 } == ["behind 1000 10000", "right"])
        registry.close()
    }

    @Test("a write is no earlier than an event that came in before the clock went back a little")
    func backALittle() throws {
        let testClock = TestClock(9_700)
        let registry = try Registry(ledger(folder, testClock))
        registry.note(time: seconds(10_000))
        testClock.seconds = 9_800
        let begun = try registry.use { file throws(StorageFault) in
            let receipts = try file.withdraw(all: [LedgerID("x")], origin: "command").receipts
            return (try file.receipts(after: receipts[0] - 1).map(\.begun), [])
        }
        #expect(begun == [seconds(10_000)])
        // After a jump of hours nobody knows which time was right.
        registry.note(time: seconds(90_000))
        try registry.use { file throws(StorageFault) in ((), try file.set(LedgerID("x"), analytics, origin: "command").changes) }
        #expect(registry.lastWritten == seconds(10_000) + 1)
        registry.close()
    }

    @Test("records of a damaged ledger do not count until it is opened again, and the damage is reported once")
    func damage() throws {
        let registry = try Registry(ledger(folder))
        let told = words(registry)
        for _ in 0..<2 {
            let found = fault { () throws(StorageFault) in
                _ = try registry.use { _ throws(StorageFault) -> (Bool, [LedgerChange]) in throw StorageFault(.damaged, "no sense") }
            }
            #expect(found?.kind == .damaged)
        }
        let full = fault { () throws(StorageFault) in
            _ = try registry.use { _ throws(StorageFault) -> (Bool, [LedgerChange]) in throw StorageFault(.full, "no room") }
        }
        #expect(full?.kind == .full)
        _ = try registry.use { file throws(StorageFault) in (try file.summary(), []) }
        #expect(registry.records.isUnreadable && !registry.records.isClockBehind)
        #expect(told.withLock { $0 } == ["damaged"])
        registry.close()
    }
}
