// Sampling by a hash of one member: a user is in or out as a whole, on every machine, in every run, and the 5 % sample
// lies inside the 10 % sample. Whatever makes the rate, the same hash is held against it.

public import Events
public import Matching
public import Plans

/// The constant under which sampling hashes: SipHash-2-4 with the sixteen bytes of this text as its key. It never
/// changes, or every sample would.
let samplingKey = SipKey(Array("switchyardsample".utf8))

public struct SampleRate: BitwiseCopyable {
    public let value: Double
    /// In when the hash is below it.
    private let threshold: UInt64
    private let takesAll: Bool

    public init(_ rate: Double) {
        value = rate
        takesAll = rate >= 1
        threshold = takesAll ? .max : rate > 0 ? UInt64(rate * 0x1p64) : 0
    }

    @inline(__always) public func takes(_ hash: UInt64) -> Bool { takesAll || hash < threshold }
    @inline(__always) var decidesAlone: Bool { takesAll || threshold == 0 }
}

public struct SampleRule: BitwiseCopyable {
    /// An index into the sampled members.
    public let member: Int
    /// All that there can be. The first is 1, for what is kept; of a sample with a target the ladder; else the second is the usual
    /// one, followed by those of `named`.
    public let rates: UnsafeBufferPointer<SampleRate>
    public let named: UnsafeBufferPointer<Globs>
    public let target: TargetRule?
    public let limit: LimitRule?
    public let keep: Globs
    /// Which of the ruleset's expressions keeps an event in; -1: none.
    public let keepCondition: Int
    /// Of a route whose verdicts depend on what came before. The ruleset holds it.
    public let memory: Unmanaged<RouteMemory>

    public init(_ plan: SamplePlan, member: Int, keepCondition: Int, memory: RouteMemory, in store: Store) {
        self.keepCondition = keepCondition
        self.member = member
        self.memory = .passUnretained(memory)
        rates = store.list(plan.possibleRates.map(SampleRate.init))
        named = store.list(plan.target == nil ? plan.rates.map { Globs([$0.glob], in: store) } : [])
        target = plan.target.map(TargetRule.init)
        limit = plan.limit.map(LimitRule.init)
        keep = Globs(plan.keep, in: store)
    }

    /// The place of the usual rate, and of the first named one, in `rates`.
    public static let usual = 1
    public static let firstNamed = 2
}

extension SamplePlan {
    /// In the order of `SampleRule.rates`.
    public var possibleRates: [Double] { target == nil ? [1, rate] + rates.map(\.rate) : Traffic.ladder }
    public var readsName: Bool { !keep.isEmpty || !rates.isEmpty }
}

/// The hashes of one event, each computed at most once for all routes that sample by the same member.
public struct Sampler: ~Copyable {
    private struct Hash: BitwiseCopyable {
        var value: UInt64 = 0
        var turn: UInt64 = 0
    }

    /// The slots of the sampled members; -1: by `messageId`.
    private let slots: UnsafeBufferPointer<Int>
    private let messageID: Int
    private let hashes: UnsafeMutablePointer<Hash>
    private let key = samplingKey
    private var decoder = Decoder()

    public init(slots: UnsafeBufferPointer<Int>, messageID: Int) {
        self.slots = slots
        self.messageID = messageID
        hashes = .allocate(capacity: max(1, slots.count))
        hashes.initialize(repeating: Hash(), count: max(1, slots.count))
    }

    deinit { hashes.deallocate() }

    /// Whether the event is in at this rate. `turn` tells one event from another.
    @inline(__always) public mutating func takes(
        _ rate: UnsafePointer<SampleRate>, by member: Int, _ event: ScannedEvent, turn: UInt64
    ) -> Bool {
        rate.pointee.takes(rate.pointee.decidesAlone ? 0 : hash(member, event, turn))
    }

    public mutating func hash(_ member: Int, _ event: ScannedEvent, _ turn: UInt64) -> UInt64 {
        if hashes[member].turn != turn { hashes[member] = Hash(value: compute(slots[member], event), turn: turn) }
        return hashes[member].value
    }

    private mutating func compute(_ slot: Int, _ event: ScannedEvent) -> UInt64 { key.hash(sampled(slot, event).text) }

    /// What is hashed: the member, or else the message id, or else the whole event.
    @inline(__always) private mutating func sampled(_ slot: Int, _ event: ScannedEvent) -> (text: ByteRun, basis: SampleBasis) {
        if slot >= 0, let text = decoder.identity(event.slots[slot], in: event.block, booleans: true) { return (text, .member) }
        if let text = decoder.identity(event.slots[messageID], in: event.block, booleans: true) { return (text, .messageID) }
        return (ByteRun(base: event.block + Int(event.start), count: Int(event.end - event.start)), .wholeEvent)
    }

    public mutating func basis(_ member: Int, _ event: ScannedEvent) -> SampleBasis { sampled(slots[member], event).basis }
}
