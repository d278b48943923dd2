// Asks a module to erase subjects. The entry of its table is optional. The call may run beside a delivery, since the lane does not wait for
// an erasure.

internal import CSwitchyardPlugin
public import Delivery
internal import Encoding
internal import Queueing

extension ModuleInstance {
    public var canErase: Bool { table.erase_subjects != nil }

    public func erase(_ request: ErasureRequest, _ done: @escaping @Sendable (ErasureAnswer) -> Void) {
        guard let erase = table.erase_subjects else {
            let advice = byHand.isEmpty ? "" : "; by hand: \(ForeignText.harmless(byHand))"
            return done(ErasureAnswer(.rejected(Answer("the module cannot erase\(advice)"))))
        }
        guard enter() else { return done(ErasureAnswer(.retry(Answer("the provider is closed"), after: nil))) }
        defer { leave() }
        let token = callbacks.beginErasure(of: request.subjects.count, done)
        let subjects = Array(SubjectID.json(request.subjects).utf8)
        subjects.withUnsafeBufferPointer { subjects in
            request.state.withUnsafeBufferPointer { state in
                var erasure = switchyard_erasure(
                    struct_size: UInt32(MemoryLayout<switchyard_erasure>.size), attempt: UInt32(clamping: request.attempt), token: token,
                    begun: request.begun, deadline_ms: UInt64(clamping: request.deadlineMilliseconds),
                    subjects: switchyard_bytes(data: subjects.baseAddress, size: subjects.count),
                    state: switchyard_bytes(data: state.baseAddress, size: state.count), context: callbacks.context,
                    ended: CallbackRegistry.erased)
                visitor.during(.erase) { erase(handle, &erasure) }
            }
        }
    }
}

extension SubjectID {
    /// Returns the subjects as the JSON array that a module gets.
    static func json(_ subjects: [SubjectID]) -> String {
        let objects = subjects.map { subject in
            "{\"member\":\(JSONString.quoted(subject.member, as: .numeric)),\"id\":\(JSONString.quoted(subject.id, as: .numeric))}"
        }
        return "[" + objects.joined(separator: ",") + "]"
    }
}
