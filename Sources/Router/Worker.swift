// What a worker does to a block: each line is scanned once, judged by every route, and its edited copies are laid into
// a parcel for each lane. Everything it needs is made once and used for every block.

internal import Events
internal import Glibc
internal import Ingest
internal import Policy

struct Worker: ~Copyable {
    var block: Block
    /// One for each provider of the plan, in order.
    private(set) var parcels: UnsafeMutableBufferPointer<Parcel>
    private(set) var tally: Tally
    private(set) var faults: [LineFault] = []
    private(set) var lines = 0
    /// Who submitted which lines of the block; none when the source asks for no answers.
    var portions: [Inbox.Portion] = []
    /// The message ids that came for the first time.
    private(set) var sightings: [SeenIDs.Sighting] = []

    private let blockSize: Int
    private let lineLimit: Int
    private var routeCount: Int
    /// Nil: every event counts, however often it comes.
    private let seen: SeenIDs?
    var scanner: Scanner
    var judge: Judge

    /// The block in hand and all that follow are judged by other rules. The parcels have been emptied.
    mutating func adopt(_ ruleset: Ruleset, depth: Int) {
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

    init(_ ruleset: Ruleset, lineLimit: Int, depth: Int, blockSize: Int, seen: SeenIDs? = nil) {
        self.seen = seen
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

    /// Works on the lines of the block. What came of them is in `parcels`, `tally`, `faults` and `lines`.
    mutating func work() {
        block.seal()
        var at = 0
        while at < block.count {
            lines += 1
            let end: Int
            if let event = scanner.scan(block.bytes, UInt32(truncatingIfNeeded: at)) {
                end = Int(scanner.lineEnd)
                if end - at > lineLimit {
                    noteOverlong(end - at, text: at..<end)
                } else if !isDuplicate(event) {
                    judge.judge(
                        event, arrival: block.arrival, source: block.source, key: block.key, into: parcels.baseAddress!, tally: &tally)
                }
            } else {
                end = lineEnd(from: at)
                noteFault(scanner.fault, line: at..<end)
            }
            at = end + 1
        }
    }

    @inline(__always) private mutating func isDuplicate(_ event: ScannedEvent) -> Bool {
        guard let seen else { return false }
        switch judge.note(event, in: seen, at: block.arrival) {
        case .none: return false
        case .new(let sighting): sightings.append(sighting)
        case .duplicate:
            tally.countDuplicate()
            return true
        }
        return false
    }

    /// Which signals of consent were broken in the events so far; they are told once.
    mutating func takeBrokenSignals() -> Set<ConsentMember> { judge.takeBrokenSignals() }

    /// A line that was over the limit and not held.
    mutating func skipLine(bytes: Int) {
        lines += 1
        noteOverlong(bytes, text: 0..<0)
    }

    /// Ready for the next block. The parcels have been emptied by the lanes that took them.
    mutating func reset() {
        lines = 0
        faults.removeAll(keepingCapacity: true)
        sightings.removeAll(keepingCapacity: true)
        portions.removeAll(keepingCapacity: true)
        tally = Tally(routes: routeCount)
        // One huge line must not cost its memory for good.
        if block.text.capacity > 8 * blockSize { block = Block(capacity: blockSize) }
        block.removeAll()
    }

    private mutating func noteFault(_ fault: Fault, line: Range<Int>) {
        if fault.kind == .blank { return }
        if line.count > lineLimit { return noteOverlong(line.count, text: line) }
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
        let newline = memchr(block.text.base + start, 0x0a, block.count - start)!
        return UnsafeRawPointer(newline) - UnsafeRawPointer(block.text.base)
    }
}
