// Sampling by a hash of one member. It promises that at one rate all events with the same value of the member are in or out together, on
// every machine and in every run, and that the 5 % sample lies inside the 10 % sample. Every kind of rate is compared with the same hash.

public import Events
public import Matching
public import Plans

/// The constant key of the hash for sampling: SipHash-2-4 with the sixteen bytes of this text. It must never change, since every sample
/// would change with it.
let samplingKey = SipKey(Array("switchyardsample".utf8))

/// A member by which routes sample, and the key of its hash.
public struct SampledMember: BitwiseCopyable, Equatable, Sendable {
    /// The slot of the member. -1 means `messageId`.
    public let slot: Int
    let key: SipKey

    /// Without a salt, the key is the constant. With a salt, it is the hash of the salt, 128 bits of SipHash-2-4 with the constant as key.
    public init(slot: Int, salt: String?) {
        self.slot = slot
        guard let salt else {
            key = samplingKey
            return
        }
        let words = Array(salt.utf8).withUnsafeBufferPointer { bytes in
            // An empty array may have no address.
            bytes.baseAddress.map { samplingKey.hash128(ByteRun(base: $0, count: bytes.count)) } ?? (0, 0)
        }
        key = SipKey([words.0, words.1].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
    }

    public static func == (a: SampledMember, b: SampledMember) -> Bool {
        a.slot == b.slot && a.key.low == b.key.low && a.key.high == b.key.high
    }
}

public struct SampleRate: BitwiseCopyable {
    public let value: Double
    /// An event is in if its hash is below this number.
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
    /// The index of the member among the sampled members.
    public let member: Int
    /// All possible rates. The first is 1, for events that are kept. With a target, the rates are the ladder. Otherwise the second rate is
    /// the usual one, and the rates of `named` follow.
    public let rates: UnsafeBufferPointer<SampleRate>
    public let named: UnsafeBufferPointer<Globs>
    public let target: TargetRule?
    public let limit: LimitRule?
    /// The slot of the member each of whose values has a limit of its own. It is -1 if there is none.
    public let limitedSlot: Int
    public let keep: Globs
    /// The index of the ruleset's expression that keeps an event in. It is -1 if there is none.
    public let keepCondition: Int
    /// The memory of the limit and the target. The ruleset owns it.
    public let memory: Unmanaged<RouteMemory>

    public init(_ plan: SamplePlan, member: Int, limitedSlot: Int, keepCondition: Int, memory: RouteMemory, in store: Store) {
        self.limitedSlot = limitedSlot
        self.keepCondition = keepCondition
        self.member = member
        self.memory = .passUnretained(memory)
        rates = store.list(plan.possibleRates.map(SampleRate.init))
        named = store.list(plan.target == nil ? plan.rates.map { Globs([$0.glob], in: store) } : [])
        target = plan.target.map(TargetRule.init)
        limit = plan.limit.map(LimitRule.init)
        keep = Globs(plan.keep, in: store)
        assert(rates.count > SampleRule.usual && rates[0].value == 1, "a sample has no rate, or cannot keep an event")
    }

    /// The indices of the usual rate and of the first named rate in `rates`.
    public static let usual = 1
    public static let firstNamed = 2
}

extension SamplePlan {
    /// The possible rates, in the order of `SampleRule.rates`.
    public var possibleRates: [Double] { target == nil ? [1, rate] + rates.map(\.rate) : Traffic.ladder }
    public var readsName: Bool { !keep.isEmpty || !rates.isEmpty }
}

/// The hashes of one event, each computed at most once for all routes that sample by the same member.
public struct Sampler: ~Copyable {
    private struct Hash: BitwiseCopyable {
        var value: UInt64 = 0
        var turn: UInt64 = 0
    }

    private let members: UnsafeBufferPointer<SampledMember>
    private let messageID: Int
    private let hashes: UnsafeMutablePointer<Hash>
    private var decoder = Decoder()

    public init(_ members: UnsafeBufferPointer<SampledMember>, messageID: Int) {
        self.members = members
        self.messageID = messageID
        hashes = .allocate(capacity: max(1, members.count))
        hashes.initialize(repeating: Hash(), count: max(1, members.count))
    }

    deinit { hashes.deallocate() }

    /// Returns true if the event is in at this rate. `turn` identifies the event.
    @inline(__always) public mutating func takes(
        _ rate: UnsafePointer<SampleRate>, by member: Int, _ event: ScannedEvent, turn: UInt64
    ) -> Bool {
        rate.pointee.takes(rate.pointee.decidesAlone ? 0 : hash(member, event: event, turn: turn))
    }

    public mutating func hash(_ member: Int, event: ScannedEvent, turn: UInt64) -> UInt64 {
        assert(turn != 0 && members.indices.contains(member), "an event has no turn, or the member is not sampled")
        if hashes[member].turn != turn { hashes[member] = Hash(value: compute(members[member], event), turn: turn) }
        return hashes[member].value
    }

    private mutating func compute(_ member: SampledMember, _ event: ScannedEvent) -> UInt64 {
        member.key.hash(sampled(member.slot, event).text)
    }

    /// Returns a number for the value of the member in this slot, by which limits tell values apart. It is nil if the value cannot be hashed.
    public mutating func value(_ slot: Int, _ event: ScannedEvent) -> UInt64? {
        decoder.identity(event.slots[slot], in: event.block, booleans: true).map(samplingKey.hash)
    }

    /// Returns the text that is hashed: the member, or else the message id, or else the whole event.
    @inline(__always) private mutating func sampled(_ slot: Int, _ event: ScannedEvent) -> (text: ByteRun, basis: SampleBasis) {
        if slot >= 0, let text = decoder.identity(event.slots[slot], in: event.block, booleans: true) { return (text, .member) }
        if let text = decoder.identity(event.slots[messageID], in: event.block, booleans: true) { return (text, .messageID) }
        return (ByteRun(base: event.block + Int(event.start), count: Int(event.end - event.start)), .wholeEvent)
    }

    public mutating func basis(_ member: Int, _ event: ScannedEvent) -> SampleBasis { sampled(members[member].slot, event).basis }
}
