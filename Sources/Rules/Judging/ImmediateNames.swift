// Knows for each provider whether the name of the present event is one of those that must not wait for a batch to fill. Each name is compared
// at most once for an event, whatever the number of routes to the provider.

internal import Events
internal import Matching

struct ImmediateNames: ~Copyable {
    private struct Known: BitwiseCopyable {
        /// The turn of the event that this answer is for.
        var turn: UInt64 = 0
        var isImmediate = false
    }

    private let names: UnsafeBufferPointer<Globs>
    private let known: UnsafeMutablePointer<Known>

    /// `names` has the names for each provider.
    init(_ names: UnsafeBufferPointer<Globs>) {
        self.names = names
        known = .allocate(capacity: max(1, names.count))
        known.initialize(repeating: Known(), count: max(1, names.count))
    }

    deinit { known.deallocate() }

    @inline(__always) func contains(_ provider: Int, _ event: ScannedEvent, context: inout EventContext) -> Bool {
        assert(names.indices.contains(provider), "the plan does not have this provider")
        let globs = names[provider]
        return !globs.isEmpty && find(provider, event, globs: globs, context: &context)
    }

    @inline(never) private func find(_ provider: Int, _ event: ScannedEvent, globs: Globs, context: inout EventContext) -> Bool {
        if known[provider].turn != context.turn {
            known[provider] = Known(turn: context.turn, isImmediate: context.isNamed(globs, event))
        }
        return known[provider].isImmediate
    }
}
