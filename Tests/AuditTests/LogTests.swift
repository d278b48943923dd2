// The log of a running process: order, what waits for the disk, a disk that fails, verdicts, and the ledger as the trail knows it.

import Audit
import ConsentGate
import Glibc
import Ledger
import MerkleLog
import Platform
import Testing

/// A log in the folder that gathers nothing and tries again at once.
func makeLog(_ folder: Folder, _ change: (inout AuditLog.Options) -> Void = { _ in }) throws -> AuditLog {
    var options = AuditLog.Options()
    options.syncs = false
    options.gathering = .zero
    options.pause = .milliseconds(1)
    options.verdictNames = ["admitted", "denied_level", "denied_unknown"]
    change(&options)
    return try AuditLog(folder.path, keys: testKeys, options: options)
}

func entries(_ folder: Folder) throws -> [EntryReading] {
    var found: [EntryReading] = []
    try TrailReader(TrailFiles(folder.path), keys: testKeys.all)?.forEachEntry { _, entry in found.append(entry) }
    return found
}

@Suite("The audit log of a process")
struct LogTests {
    private func entry(_ log: AuditLog, _ number: Int) -> AuditEntry {
        var entry = AuditEntry(.access, at: log.now)
        entry.add("number", number)
        return entry
    }

    @Test func `Everything that was noted is in the trail in the order of each thread`() throws {
        let folder = Folder()
        let log = try makeLog(folder)
        log.start()
        let left = Monitor(4)
        for thread in 0..<4 {
            Thread.start("noting \(thread)") {
                for number in 0..<500 { log.note(entry(log, thread * 1000 + number)) }
                left.withLock { $0 -= 1 }
                left.wake()
            }.detach()
        }
        left.wait(while: { $0 > 0 })
        #expect(log.close() == nil)
        let numbers = try entries(folder).map { $0.number("number")! }
        #expect(numbers.count == 2000)
        for thread in 0..<4 { #expect(numbers.filter { $0 / 1000 == thread } == (0..<500).map { thread * 1000 + $0 }) }
        #expect(try verified(folder).isWhole)
    }

    @Test func `Who waits until it is safe is told after the entry is on disk`() throws {
        let folder = Folder()
        let log = try makeLog(folder)
        let found = Monitor<[Int]>([])
        for number in 0..<50 {
            log.note(entry(log, number))
            log.whenSafe {
                let count = (try? entries(folder).count) ?? 0
                found.withLock { $0.append(count >= number + 1 ? 1 : 0) }
            }
        }
        #expect(log.isBehind)
        log.start()
        try log.flush()
        #expect(!log.isBehind)
        #expect(log.close() == nil)
        #expect(found.withLock { $0 } == [Int](repeating: 1, count: 50))
    }

    @Test func `While the trail cannot be written nobody is told that it is safe, and nothing is lost`() throws {
        let folder = Folder()
        let said = Monitor<[String]>([])
        let log = try makeLog(folder) { $0.say = { line in said.withLock { $0.append(line) } } }
        log.start()
        // A folder in the place of the file makes every write fail.
        let tail = TrailFiles(folder.path).tail(0)
        #expect(mkdir(tail, 0o700) == 0)
        let isSafe = Monitor(false)
        log.note(entry(log, 1))
        log.whenSafe { isSafe.withLock { $0 = true } }
        #expect(throws: StorageFault.self) { try log.flush() }
        log.note(entry(log, 2))
        #expect(throws: StorageFault.self) { try log.flush() }
        #expect(log.fault != nil)
        #expect(!isSafe.withLock { $0 })
        rmdir(tail)
        while log.isBehind { sched_yield() }
        #expect(log.close() == nil)
        #expect(isSafe.withLock { $0 })
        #expect(try entries(folder).map { $0.number("number") } == [1, 2])
        #expect(said.withLock { $0.filter { $0.contains("cannot be written") }.count } == 1)
    }

    @Test func `The end of a process reports what could not be written`() throws {
        let folder = Folder()
        let log = try makeLog(folder)
        log.start()
        #expect(mkdir(TrailFiles(folder.path).tail(0), 0o700) == 0)
        log.note(entry(log, 1))
        #expect(log.close() != nil)
    }

    @Test func `An entry that is too long names its text, which is kept and verified`() throws {
        let folder = Folder()
        let log = try makeLog(folder)
        log.start()
        var long = entry(log, 7)
        long.add("words", String(repeating: "long ", count: 20_000))
        log.note(long)
        #expect(log.close() == nil)
        let found = try #require(try entries(folder).first)
        #expect(found.number("number") == 7 && found.text("words") == nil)
        let path = TrailFiles(folder.path).text(try #require(found.text("text_sha256")))
        #expect(EntryReading(read(path))?.text("words")?.utf8.count == 100_000)
        #expect(try verified(folder).isWhole)
        write(path, read(path).dropLast())
        #expect(try !verified(folder).isWhole)
        unlink(path)
        #expect(try !verified(folder).isWhole)
    }

    // MARK: - Verdicts

    private func block(_ events: Range<Int>, plan: String? = nil) -> VerdictBlock {
        var rows: [UInt8] = []
        for event in events { rows += testKeys.hash(event: Array("m\(event)".utf8)) + [UInt8(event % 3), 1] }
        return VerdictBlock(
            plan: plan, routes: ["a", "b"], rows: rows, counts: [events.count, 0, 0, 0, events.count, 0], events: events.count)
    }

    @Test func `The verdicts of every event can be proved, and those of no other event`() throws {
        let folder = Folder()
        let log = try makeLog(folder)
        log.note(block(0..<5))
        log.note(block(5..<100))
        log.start()
        try log.flush()
        log.note(block(100..<101))
        try log.flush()
        log.note(block(101..<101))
        #expect(log.close() == nil)
        #expect(try entries(folder).map { $0.number("rows") } == [100, 1, 0])
        let reader = try #require(try TrailReader(TrailFiles(folder.path), keys: testKeys.all))
        for event in 0...101 {
            let proofs = try reader.verdicts(of: testKeys.hash(event: Array("m\(event)".utf8))) { #expect($0 == 0) }
            guard event < 101 else {
                #expect(proofs.isEmpty)
                continue
            }
            let proof = try #require(proofs.first)
            #expect(proofs.count == 1 && proof.isValid)
            #expect(proof.row.map { Array($0.bytes.suffix(2)) } == [UInt8(event % 3), 1])
            var forged = proof
            forged.row?.bytes[16] ^= 1
            #expect(!forged.isValid)
            forged = proof
            forged.entry[20] ^= 1
            #expect(!forged.isValid)
        }
        #expect(try verified(folder).isWhole)
        #expect(try verified(folder).verdicts == 101)
    }

    @Test func `A change, a swap or a cut of rows of verdicts is found`() throws {
        let folder = Folder()
        let log = try makeLog(folder)
        log.note(block(0..<50))
        log.start()
        #expect(log.close() == nil)
        let path = try #require(folder.files.first { $0.contains("/verdicts/") })
        let bytes = read(path)
        for at in bytes.indices {
            var changed = bytes
            changed[at] ^= 4
            write(path, changed)
            #expect(try !verified(folder).isWhole, "byte \(at)")
        }
        write(path, Array(bytes[18..<36]) + bytes[..<18] + bytes[36...])
        #expect(try !verified(folder).isWhole)
        for count in [0, 17, 18, bytes.count - 1] {
            write(path, Array(bytes[..<count]))
            #expect(try !verified(folder).isWhole)
        }
    }

    @Test func `Verdicts of different plans are different entries`() throws {
        let folder = Folder()
        let log = try makeLog(folder)
        for plan in ["one", "one", "two", "one"] { log.note(block(0..<1, plan: plan)) }
        log.start()
        #expect(log.close() == nil)
        #expect(try entries(folder).map { $0.text("plan") } == ["one", "two", "one"])
        #expect(try entries(folder).map { $0.number("events") } == [2, 1, 1])
    }

    @Test func `Verdicts that cannot wait any longer are noted as lost, and are not acknowledged before`() throws {
        let folder = Folder()
        let log = try makeLog(folder) { $0.patience = .zero }
        let row = testKeys.hash(event: [1]) + [1]
        let large = VerdictBlock(
            plan: nil, routes: ["a"], rows: Array(repeatElement(row, count: 1_200_000).joined()), counts: [0, 1_200_000, 0],
            events: 1_200_000)
        log.note(large)
        log.note(large)
        #expect(log.isBehind)
        log.start()
        #expect(log.close() == nil)
        #expect(try entries(folder).compactMap(\.kind) == [.lost, .verdicts])
        #expect(try entries(folder)[0].number("events") == 1_200_000)
    }

    // MARK: - Retention

    @Test func `What was pruned is accounted for, and what is missing besides is found`() throws {
        let folder = Folder()
        let time = Monitor<Int64>(1_000_000_000)
        let log = try makeLog(folder) { $0.clock = Clock(now: Clock.system.now, wall: { time.withLock { $0 } }) }
        log.start()
        for number in 0..<700 {
            log.note(entry(log, number))
            time.withLock { $0 += 1_000_000_000 }
        }
        try log.flush()
        let head = read(log.files.checkpoint)
        try log.prune(before: 300_000_000_000)
        #expect(log.close() == nil)
        #expect(access(log.files.bundle(0), F_OK) != 0 && access(log.files.bundle(1), F_OK) == 0)
        let findings = try verified(folder, kept: head)
        #expect(findings.faults == [])
        #expect(findings.pruned == 256)
        let reader = try #require(try TrailReader(log.files, keys: testKeys.all))
        #expect(try reader.entry(3) == nil)
        #expect(try reader.proof(of: 300)?.isValid == true)
        // The trail goes on after a new start.
        _ = try makeTrail(folder).append(someEntries(1))
        #expect(try verified(folder).isWhole)
        unlink(log.files.bundle(1))
        #expect(try !verified(folder).isWhole)
    }

    // MARK: - The ledger

    @Test func `A ledger that is behind the trail, or is another one, is refused until a person accepts it`() throws {
        let folder = Folder()
        let beginning = AuditLog.Beginning(program: "test", keys: [])
        func begin(_ position: LedgerPosition, _ late: [LedgerAct] = []) throws {
            let log = try makeLog(folder)
            try log.begin(beginning, ledger: position) { _ in late }
            log.start()
            #expect(log.close() == nil)
        }
        let known = LedgerPosition(database: -5, commits: 10, written: 1000)
        try begin(known)
        try begin(known)
        var behind = known
        behind.commits = 9
        #expect(throws: StorageFault.self) { try begin(behind) }
        var other = known
        other.database = 6
        #expect(throws: StorageFault.self) { try begin(other) }
        let log = try makeLog(folder)
        try log.accept(behind, user: 1)
        log.start()
        #expect(log.close() == nil)
        try begin(behind)
        #expect(try entries(folder).filter { $0.kind == .accepted }.map { $0.number("before_commits") } == [10])
    }

    @Test func `What the ledger did without an entry is made up for at the next beginning`() throws {
        let folder = Folder()
        let beginning = AuditLog.Beginning(program: "test", keys: [])
        let act = LedgerAct.decided(
            ShortHash(high: 1, low: 2), .withdrawn, decided: 5, received: 6, origin: "command", holds: true)
        for (commits, late) in [(1, []), (2, []), (4, [act])] as [(Int64, [LedgerAct])] {
            let log = try makeLog(folder)
            try log.begin(beginning, ledger: LedgerPosition(database: 1, commits: commits, written: commits * 10)) { time in
                #expect(time == (commits == 2 ? 10 : 20))
                return late
            }
            log.start()
            #expect(log.close() == nil)
        }
        let found = try entries(folder)
        #expect(found.compactMap(\.kind) == [.start, .start, .start, .recovered, .decision])
        #expect(found.last?.text("subject") == testKeys.hash(subject: ShortHash(high: 1, low: 2)))
    }

    @Test func `A write of the ledger is in the trail as a whole or not at all, and no entry before it knows its position`() throws {
        let folder = Folder()
        let log = try makeLog(folder)
        func acts(_ count: Int) -> [LedgerAct] {
            (0..<count).map { .untied(ShortHash(high: 7, low: UInt64($0))) }
        }
        log.note(acts(1500), LedgerPosition(database: 1, commits: 1, written: 10))
        log.note(acts(3000), LedgerPosition(database: 1, commits: 2, written: 20))
        // Each bundle that becomes full is renamed, so a folder in the place of the last tail makes the second write fail.
        let tail = TrailFiles(folder.path).tail(4500 / 256)
        #expect(mkdir(tail, 0o700) == 0)
        log.start()
        #expect(throws: StorageFault.self) { try log.flush() }
        let found = try entries(folder)
        #expect(found.count == 1500)
        #expect(found.allSatisfy { ($0.ledger?.commits ?? 1) == 1 })
        rmdir(tail)
        #expect(log.close() == nil)
        #expect(try entries(folder).count == 4500)
        #expect(try entries(folder).last?.ledger?.commits == 2)
        #expect(try verified(folder).isWhole)
    }

    @Test func `Keys that are others than at the last start are noted`() throws {
        let folder = Folder()
        for print in ["1", "1", "2"] {
            let log = try makeLog(folder)
            try log.begin(AuditLog.Beginning(program: "test", keys: [("ledger", "i/d\u{1}s\u{e9}", print)]), ledger: nil) { _ in [] }
            log.start()
            #expect(log.close() == nil)
        }
        #expect(try entries(folder).compactMap(\.kind) == [.start, .start, .start, .keys])
    }
}
