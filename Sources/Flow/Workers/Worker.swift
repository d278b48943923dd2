// Processes a block: scans each line once, lets every route judge it, and writes its edited copies to a parcel for each lane. The buffers
// are made once and used for every block. An event that must change the ledger ends the parallel work: the rest of its block is judged in
// turn.

public import Admission
public import ConsentGate
public import Events
internal import Glibc
public import Ingest
public import Judging

public struct Worker: ~Copyable {
    public var block: Block
    /// The parcels, one for each provider of the plan, in order.
    public private(set) var parcels: UnsafeMutableBufferPointer<Parcel>
    public var tally: Tally
    public private(set) var faults: [LineFault] = []
    public private(set) var lines = 0
    /// The submissions that the block consists of. It is nil if the source asks for no answers.
    public var submissions: Submissions?
    /// The message ids of the block that came for the first time.
    public private(set) var sightings: [SeenIDs.Sighting] = []
    /// The data for statements to the ledger. It is nil if no ledger is kept.
    public var consentIntake: ConsentIntake?
    /// The counts of the block's statements to the ledger.
    public var heard = ConsentCounts()
    /// The position in the block: after its last line, or at an event that waits for its turn to change the ledger.
    private var position = 0
    /// The number of lines that were judged before the block was begun again, and the numbers of those lines whose `messageId` had come
    /// before.
    private var judgedBefore = 0
    private var repeated: Set<Int> = []
    /// True while the ids that had come before are looked up again, since some of them may be forgotten by now.
    private var looksUpAgain = false

    private let blockSize: Int
    private let lineLimit: Int
    private var routeCount: Int
    /// It is nil if every event counts, even if it comes again.
    private let seen: SeenIDs?
    public var scanner: Scanner
    public var judge: Judge
    /// The numbers of the taps for which the judge watches the block, in the order of its watches.
    public var watchers: [Int] = []

    /// Applies other rules to the current block and all later ones. The parcels must be empty.
    public mutating func adopt(_ ruleset: Ruleset, depth: Int) {
        assert(hasEmptyParcels, "a new plan takes over while parcels of the old one are full")
        parcels.deinitialize()
        parcels.deallocate()
        parcels = Worker.parcels(ruleset)
        routeCount = ruleset.routeCount
        scanner = Scanner(ruleset.paths, depth: depth)
        judge = Judge(ruleset)
        tally = Tally(routes: routeCount)
    }

    private static func parcels(_ ruleset: Ruleset) -> UnsafeMutableBufferPointer<Parcel> {
        let parcels = UnsafeMutableBufferPointer<Parcel>.allocate(capacity: ruleset.providerCount)
        for index in parcels.indices { (parcels.baseAddress! + index).initialize(to: Parcel()) }
        return parcels
    }

    public init(_ ruleset: Ruleset, lineLimit: Int, depth: Int, blockSize: Int, seen: SeenIDs? = nil) {
        self.seen = seen
        assert(lineLimit > 0, "every line would be over the limit")
        self.blockSize = blockSize
        self.lineLimit = lineLimit
        routeCount = ruleset.routeCount
        block = Block(capacity: blockSize)
        scanner = Scanner(ruleset.paths, depth: depth)
        judge = Judge(ruleset)
        tally = Tally(routes: ruleset.routeCount)
        parcels = Worker.parcels(ruleset)
    }

    deinit {
        parcels.deinitialize()
        parcels.deallocate()
    }

    /// Processes the lines of the block, up to an event that must wait for its turn to change the ledger. The results are in `parcels`,
    /// `tally`, `faults` and `lines`.
    public mutating func work() {
        block.seal()
        if consentIntake != nil { judge.beginBlock() }
        goOn()
    }

    /// Continues from the current position in the same way.
    public mutating func goOn() { advance(inTurn: false) { _, _, _ in nil } }

    /// True if an event of the block waits for its turn.
    public var isWaiting: Bool { position < block.count }

    /// Processes the rest of the block, in turn. The body gets every statement to the ledger before its event is judged. It may return a
    /// time; this event and all later ones then have an arrival after that time.
    public mutating func finish<E: Error>(_ hear: (inout Judge, ScannedEvent, ConsentStatement) throws(E) -> Int64?) throws(E) {
        try advance(inTurn: true, hear)
    }

    /// Begins again at the first line. The earlier results are discarded, except for the ids that were seen and the limits that were
    /// applied.
    public mutating func beginAgain() {
        judgedBefore = max(judgedBefore, lines)
        (lines, position) = (0, 0)
        faults.removeAll(keepingCapacity: true)
        tally = Tally(routes: routeCount)
        heard = ConsentCounts()
        removeParcels()
        judge.forgetHeld()
        judge.forgetVerdicts()
        consentIntake?.trustedTies = false
        judge.beginBlockAgain()
    }

    /// Judges the lines again whose `messageId` had come before, and with them the whole block. Call it in turn, after a block that was read
    /// earlier was given back and its ids were forgotten.
    public mutating func judgeRepeatedAgain() {
        looksUpAgain = true
        beginAgain()
        goOn()
        looksUpAgain = false
    }

    /// Makes the arrival of everything that is judged from now on later than this time.
    public mutating func comesAfter(_ time: Int64) { block.arrival = max(block.arrival, time + 1) }

    /// Empties the parcels, so that nothing of the block is handed over.
    public func removeParcels() {
        // The local copy is necessary: an inout through a pointer member of a noncopyable value does not compile under the thread
        // sanitizer.
        let parcels = parcels
        for index in parcels.indices { parcels[index].removeAll() }
    }

    private var hasEmptyParcels: Bool {
        let parcels = parcels
        return parcels.indices.allSatisfy { parcels[$0].isEmpty }
    }

    @inline(__always) private mutating func advance<E: Error>(
        inTurn: Bool, _ hear: (inout Judge, ScannedEvent, ConsentStatement) throws(E) -> Int64?
    ) throws(E) {
        let hears = consentIntake != nil
        let looksAhead = judge.looksAhead
        defer {
            judge.expectNothing()
            judge.countLeftOut(into: &tally)
        }
        var coming = Line()
        var isScanned = false
        while position < block.count {
            let line = isScanned ? coming : scan(at: position)
            assert(line.start == position && line.end < block.count, "a line is not where the last one ended, or ends after the block")
            lines += 1
            isScanned = looksAhead && line.end + 1 < block.count
            if isScanned {
                coming = scan(at: line.end + 1)
                if let event = coming.event { judge.expect(event) }
            }
            if let event = line.event {
                let statement = hears ? judge.statement(event) : .none
                if line.end - line.start > lineLimit {
                    noteOverlong(line.end - line.start, text: line.start..<line.end)
                } else if statement != .none, !inTurn, mustWait(event, statement) {
                    lines -= 1
                    assert(lines >= 0, "a line waits that was not read")
                    return
                } else if !isDuplicate(event) {
                    if statement != .none {
                        if !inTurn || isForbidden(statement) {
                            count(statement)
                        } else if let time = try hear(&judge, event, statement) {
                            comesAfter(time)
                        }
                    }
                    judge.judge(
                        event, arrival: block.arrival, source: block.source, key: block.key, into: parcels.baseAddress!, tally: &tally)
                }
            } else {
                // The scanner knows only the fault of the line that it read last, so it reads this line again.
                if isScanned {
                    _ = scan(at: line.start)
                    isScanned = false
                }
                noteFault(scanner.fault, line: line.start..<line.end)
            }
            position = line.end + 1
        }
    }

    private struct Line {
        var start = 0
        /// The position of its newline.
        var end = 0
        /// The event. It is nil if the line is none; the scanner then knows the reason.
        var event: ScannedEvent?
    }

    @inline(__always) private mutating func scan(at start: Int) -> Line {
        let event = scanner.scan(block.bytes, UInt32(truncatingIfNeeded: start))
        return Line(start: start, end: event == nil ? lineEnd(from: start) : Int(scanner.lineEnd), event: event)
    }

    @inline(never) private mutating func mustWait(_ event: ScannedEvent, _ statement: ConsentStatement) -> Bool {
        if isForbidden(statement) { return false }
        guard let consentIntake, statement == .identify else { return true }
        let subjects = judge.tiedSubjects(of: event)
        guard let subjects, consentIntake.ties.knows(subjects.0, subjects.1) else { return true }
        self.consentIntake?.trustedTies = true
        return false
    }

    /// Returns true if the statement is forbidden. A source that may not write may refuse consent, but may not state ties.
    private func isForbidden(_ statement: ConsentStatement) -> Bool { statement.concernsTies && consentIntake?.mayWrite != true }

    private mutating func count(_ statement: ConsentStatement) {
        if isForbidden(statement) { heard.forbidden += 1 } else { heard.taken += 1 }
    }

    @inline(__always) private mutating func isDuplicate(_ event: ScannedEvent) -> Bool {
        seen == nil ? false : isRepeated(event)
    }

    private mutating func isRepeated(_ event: ScannedEvent) -> Bool {
        guard let seen else { return false }
        if lines <= judgedBefore {
            guard repeated.contains(lines) else { return false }
            if looksUpAgain, case .new(let sighting) = judge.note(event, in: seen, at: block.arrival) {
                sightings.append(sighting)
                repeated.remove(lines)
                return false
            }
            tally.countDuplicate()
            return true
        }
        switch judge.note(event, in: seen, at: block.arrival) {
        case .none: return false
        case .new(let sighting): sightings.append(sighting)
        case .duplicate:
            tally.countDuplicate()
            repeated.insert(lines)
            return true
        }
        return false
    }

    /// Returns the consent signals that were broken in the events so far. Each of them is returned once.
    public mutating func takeBrokenSignals() -> Set<ConsentMember> { judge.takeBrokenSignals() }

    /// Counts a line that was over the limit and was not held.
    public mutating func skipLine(bytes: Int) {
        lines += 1
        noteOverlong(bytes, text: 0..<0)
    }

    /// Prepares for the next block. The lanes that took the parcels have emptied them.
    public mutating func reset() {
        lines = 0
        faults.removeAll(keepingCapacity: true)
        sightings.removeAll(keepingCapacity: true)
        submissions = nil
        judge.forgetHeld()
        judge.forgetVerdicts()
        consentIntake = nil
        (position, judgedBefore) = (0, 0)
        repeated.removeAll(keepingCapacity: true)
        heard = ConsentCounts()
        tally.removeAll()
        // One huge line must not keep its memory for good.
        if block.text.capacity > 8 * blockSize { block = Block(capacity: blockSize) }
        block.removeAll()
    }

    private mutating func noteFault(_ fault: Fault, line: Range<Int>) {
        if fault.kind == .blank { return }
        if line.count > lineLimit { return noteOverlong(line.count, text: line) }
        assert(Int(fault.offset) >= line.lowerBound, "the fault of a line lies before the line")
        faults.append(
            LineFault(line: lines, column: Int(fault.offset) - line.lowerBound + 1, message: fault.message, text: line))
    }

    private mutating func noteOverlong(_ bytes: Int, text: Range<Int>) {
        faults.append(
            LineFault(
                line: lines, column: lineLimit + 1, message: "the line has \(bytes) bytes, more than limits.line allows (\(lineLimit))",
                text: text))
    }

    private func lineEnd(from start: Int) -> Int {
        assert(start < block.count, "a line begins after the end of its block")
        let newline = memchr(block.text.base + start, 0x0a, block.count - start)!
        return UnsafeRawPointer(newline) - UnsafeRawPointer(block.text.base)
    }
}
