// The steps that the expressions and masks of one event may take. Therefore no event keeps a worker busy for long, however many rules look
// at it. Each rule (a route, or a rule of `emit`) has a few steps that no other rule can take, so that a usual rule never fails because of
// the others. Beyond them, all rules of the event share one supply.

/// A counter that the readers of one event share. It is a plain value that points to the counter; its owner makes and destroys it.
public struct EventSteps: BitwiseCopyable, @unchecked Sendable {
    /// The steps that all rules of an event share.
    public static let shared = 500_000
    /// The steps that each rule has for itself. It takes these first.
    public static let ofRule = 1000
    /// The bytes of a text that a comparison with constants reads in one step. A shorter text takes none.
    public static let bytesOfComparison = 1024

    /// What is left. A trial sets it back to what it was before.
    public struct Left: BitwiseCopyable, Sendable {
        /// The shared steps.
        public var shared: Int
        /// The own steps of the present rule.
        public var own: Int

        public init(shared: Int, own: Int) {
            self.shared = shared
            self.own = own
        }
    }

    private let counter: UnsafeMutablePointer<Left>

    /// Begins with shared steps only, as if all rules had taken their own.
    public init(shared: Int = EventSteps.shared) {
        precondition(shared >= 0, "an event has fewer steps than none")
        counter = .allocate(capacity: 1)
        counter.initialize(to: Left(shared: shared, own: 0))
    }

    public func destroy() { counter.deallocate() }

    /// Begins with another event, before its first rule.
    @inline(__always) public func begin() { counter.pointee = Left(shared: EventSteps.shared, own: 0) }

    /// Begins with another rule of the event.
    @inline(__always) public func beginRule() { counter.pointee.own = EventSteps.ofRule }

    public var left: Left {
        get { counter.pointee }
        nonmutating set {
            assert(newValue.shared >= 0 && newValue.own >= 0, "an event has fewer steps than none")
            counter.pointee = newValue
        }
    }

    /// The steps that the present rule can still take.
    public var available: Int { counter.pointee.shared + counter.pointee.own }

    /// Takes so many steps. Returns false and takes none if fewer are left.
    public func take(_ steps: Int) -> Bool {
        assert(steps >= 0, "steps are given back")
        guard steps <= available else { return false }
        let own = min(steps, counter.pointee.own)
        counter.pointee.own -= own
        counter.pointee.shared -= steps - own
        return true
    }

    /// Takes all steps that the present rule can still take.
    public func takeAll() { counter.pointee = Left(shared: 0, own: 0) }
}
