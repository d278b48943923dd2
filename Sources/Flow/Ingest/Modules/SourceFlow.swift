// The state of a module source as a value: which blocks wait, which are with the sink, which have ended, and what the module must be told.
// It knows no thread, no clock and no module. Whoever holds it feeds in what happened, and carries out what it returns.
//
// It promises: the blocks of a stream go to the sink one after the other, and the next only when the last cannot come back any more. Each
// token that was taken comes out once for acknowledgement, after its block has ended, or never if events of the block were lost. What the
// source holds stays within its bound, except for one block that is larger. After each refusal for lack of room comes a call of `resume`.

internal import Platform

struct SourceFlow {
    /// A call that the module must get.
    enum Call: Equatable {
        case start, pause, resume, stop
        case acknowledge([UInt64])
    }

    private struct Waiting {
        let serial: Int
        let block: SourceBlock
    }
    /// The blocks of a stream that no worker has taken. The first of them may be with the sink.
    private struct Stream {
        var blocks: [Waiting] = []
        var isWithSink = false
    }
    private struct Ended {
        let token: UInt64
        let bytes: Int
    }

    private let bound: Int
    private var streams: [UInt64: Stream] = [:]
    /// The streams whose first block can be submitted, in the order in which they may.
    private var ready: [UInt64] = []
    /// The streams whose first block was given back, with the time of the next attempt.
    private var resting: [(until: Instant, stream: UInt64)] = []
    /// The blocks that are taken and have not ended, by serial number.
    private var open: [Int: (token: UInt64, stream: UInt64, bytes: Int)] = [:]
    private var tokens: Set<UInt64> = []
    private var ended: [Ended] = []
    /// The bytes of the blocks that are passed to the module in the present call.
    private var inCall: (blocks: Int, bytes: Int) = (0, 0)
    private var lastSerial = 0

    private(set) var openBytes = 0
    private(set) var acknowledged = 0
    private(set) var hasStarted = false
    private(set) var hasEnded = false
    private var isStopping = false
    private var wasStopped = false
    private var isSinkClosed = false
    private var isFull = false
    private var wasTold = false
    private var owesResume = false
    /// The size of the last block for which there was no room.
    private var wanted = 0

    init(bound: Int) {
        assert(bound > 0, "a source without room can hand over nothing")
        self.bound = bound
    }

    /// The blocks that are not acknowledged, and those of them that no worker has taken.
    var openBlocks: Int { open.count + ended.count + inCall.blocks }
    var waitingBlocks: Int { streams.values.reduce(0) { $0 + $1.blocks.count } }
    var isPaused: Bool { isFull }
    /// True if the module has ended and no block of it can come back any more.
    var isThrough: Bool { hasEnded && streams.isEmpty }

    // MARK: - What the module does

    /// True if nothing more is taken.
    var isClosing: Bool { !hasStarted || isStopping || hasEnded || isSinkClosed }

    func isInUse(_ token: UInt64) -> Bool { tokens.contains(token) }

    mutating func take(_ block: SourceBlock) -> BlockVerdict {
        if isClosing { return .closing }
        if isInUse(block.token) { return .wrong }
        guard openBytes == 0 || openBytes + block.bytes <= bound else {
            isFull = true
            owesResume = true
            wanted = block.bytes
            return .full
        }
        lastSerial += 1
        tokens.insert(block.token)
        open[lastSerial] = (block.token, block.stream, block.bytes)
        openBytes += block.bytes
        if openBytes >= bound { isFull = true }
        streams[block.stream, default: Stream()].blocks.append(Waiting(serial: lastSerial, block: block))
        if streams[block.stream]!.blocks.count == 1 { ready.append(block.stream) }
        return .taken
    }

    /// The module has nothing more.
    mutating func end() { hasEnded = true }

    // MARK: - What the sink does

    /// Returns the next block that the sink should get. It counts as with the sink from then on.
    mutating func nextSubmission(now: Instant) -> (serial: Int, block: SourceBlock)? {
        guard !isSinkClosed else { return nil }
        if resting.contains(where: { $0.until <= now }) {
            ready += resting.filter { $0.until <= now }.map(\.stream)
            resting.removeAll { $0.until <= now }
        }
        guard !ready.isEmpty else { return nil }
        let stream = ready.removeFirst()
        guard let first = streams[stream]?.blocks.first else { return nil }
        assert(!streams[stream]!.isWithSink, "two blocks of a stream are with the sink")
        streams[stream]!.isWithSink = true
        return (first.serial, first.block)
    }

    /// The time at which a block that was given back can be submitted again. It is nil if there is none.
    var nextTime: Instant? { isSinkClosed ? nil : resting.map(\.until).min() }

    /// The block can no longer come back.
    mutating func taken(_ serial: Int) {
        guard let stream = open[serial]?.stream, streams[stream]?.blocks.first?.serial == serial, streams[stream]!.isWithSink else {
            return
        }
        streams[stream]!.isWithSink = false
        streams[stream]!.blocks.removeFirst()
        if streams[stream]!.blocks.isEmpty { streams[stream] = nil } else { ready.append(stream) }
    }

    /// The sink has given the block back, or had no room for it.
    mutating func givenBack(_ serial: Int, until: Instant) {
        guard let stream = open[serial]?.stream, streams[stream]?.blocks.first?.serial == serial, streams[stream]!.isWithSink else {
            return
        }
        streams[stream]!.isWithSink = false
        resting.append((until, stream))
    }

    /// Every event of the block has come to its end.
    mutating func ended(_ serial: Int) {
        taken(serial)
        guard let block = open.removeValue(forKey: serial) else { return }
        ended.append(Ended(token: block.token, bytes: block.bytes))
    }

    /// Events of the block were lost. It is never acknowledged, so that the module gets them again from where it reads.
    mutating func lost(_ serial: Int) {
        taken(serial)
        guard let block = open.removeValue(forKey: serial) else { return }
        tokens.remove(block.token)
        free(block.bytes)
    }

    /// The sink takes nothing more. Blocks that wait are never acknowledged.
    mutating func closeSink() { isSinkClosed = true }

    // MARK: - What the module is told

    mutating func stop() { isStopping = true }

    /// Returns the next call of the module. After `acknowledge`, `acknowledgedAll` must follow when the call has returned.
    mutating func nextCall() -> Call? {
        guard hasStarted else {
            guard !isStopping else { return nil }
            hasStarted = true
            return .start
        }
        if isStopping, !wasStopped {
            wasStopped = true
            return .stop
        }
        if !ended.isEmpty {
            let now = ended
            ended = []
            assert(inCall.blocks == 0, "a call of acknowledge has not returned")
            inCall = (now.count, now.reduce(0) { $0 + $1.bytes })
            for one in now { tokens.remove(one.token) }
            return .acknowledge(now.map(\.token))
        }
        guard !isStopping else { return nil }
        if isFull, !wasTold {
            wasTold = true
            return .pause
        }
        if !isFull, wasTold || owesResume {
            (wasTold, owesResume) = (false, false)
            return .resume
        }
        return nil
    }

    /// The call of `acknowledge` has returned, so the bytes of its blocks are free.
    mutating func acknowledgedAll() {
        acknowledged += inCall.blocks
        free(inCall.bytes)
        inCall = (0, 0)
    }

    private mutating func free(_ bytes: Int) {
        openBytes -= bytes
        assert(openBytes >= 0, "more bytes are free than were taken")
        if isFull, openBytes <= bound / 2, openBytes == 0 || openBytes + wanted <= bound {
            isFull = false
            wanted = 0
        }
    }
}
