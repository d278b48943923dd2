// The steps that all expressions and masks of one event may take together, on all routes. Therefore no event keeps a worker busy for long,
// however many rules look at it.

/// A counter that the readers of one event share. It is a plain value that points to the counter; its owner makes and destroys it.
public struct EventSteps: BitwiseCopyable, @unchecked Sendable {
    /// The most steps of one event.
    public static let most = 500_000

    private let counter: UnsafeMutablePointer<Int>

    public init(_ steps: Int = EventSteps.most) {
        precondition(steps >= 0, "an event has fewer steps than none")
        counter = .allocate(capacity: 1)
        counter.initialize(to: steps)
    }

    public func destroy() { counter.deallocate() }

    /// The steps that are left. A trial sets them back to what they were before.
    public var left: Int {
        get { counter.pointee }
        nonmutating set {
            assert(newValue >= 0, "an event has fewer steps than none")
            counter.pointee = newValue
        }
    }

    /// Takes so many steps. Returns false and takes none if fewer are left.
    public func take(_ steps: Int) -> Bool {
        assert(steps >= 0, "steps are given back")
        guard steps <= left else { return false }
        left -= steps
        return true
    }
}
