// An erasure by an adapter behind its C table, as the router asks for it.

public import PluginKit

/// The end of one call.
public struct Erased: Equatable, Sendable {
    /// The outcome, its pause in milliseconds, and its message.
    public var outcome: String
    public var state: String
    /// The subjects with an outcome of their own.
    public var own: [Int: String]

    public init(outcome: String, state: String, own: [Int: String] = [:]) {
        self.outcome = outcome
        self.state = state
        self.own = own
    }
}

extension Instance {
    private final class Ends {
        var all: [Erased] = []
    }

    /// Asks the adapter to erase, and returns the end of the call. Checks that there is one. The adapter must have the entry, and end the
    /// call before it returns, as every adapter of PluginKit does.
    public func erase(_ subjects: [Erasure.Subject], state: String = "", attempt: UInt32 = 1, deadline: UInt64 = 600_000) -> Erased {
        let ends = Ends()
        var list = "[" + subjects.map { "{\"member\":\(Self.quoted($0.member)),\"id\":\(Self.quoted($0.id))}" }.joined(separator: ",") + "]"
        var state = state
        list.withUTF8 { list in
            state.withUTF8 { state in
                var erasure = switchyard_erasure(
                    struct_size: UInt32(MemoryLayout<switchyard_erasure>.size), attempt: attempt, token: 1, begun: 0, deadline_ms: deadline,
                    subjects: switchyard_bytes(data: list.baseAddress, size: list.count),
                    state: switchyard_bytes(data: state.baseAddress, size: state.count),
                    context: Unmanaged.passUnretained(ends).toOpaque(),
                    ended: { context, _, outcome, events, count, state in
                        let outcome = outcome!.pointee
                        let own = UnsafeBufferPointer(start: events, count: count).map {
                            (Int($0.index), Ending.kinds[Int($0.outcome.kind)])
                        }
                        let words = "\(Ending.kinds[Int(outcome.kind)]) \(outcome.retry_after_ms): \(Instance.text(outcome.message))"
                        Unmanaged<Ends>.fromOpaque(context!).takeUnretainedValue().all.append(
                            Erased(outcome: words, state: Instance.text(state), own: Dictionary(uniqueKeysWithValues: own)))
                    })
                call { table, handle in table.pointee.erase_subjects!(handle, &erasure) }
            }
        }
        precondition(ends.all.count == 1, "an erasure ended \(ends.all.count) times")
        return ends.all[0]
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
