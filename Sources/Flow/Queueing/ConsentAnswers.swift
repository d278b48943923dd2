// The answers of the second check for some batches of a lane, as a value. A lane collects them while it does not hold its lock and hands
// them to its state, which compares their version with the present one. The collection keeps its batches alive.

public import Admission
public import ConsentGate

public struct ConsentAnswers {
    /// The version of consent before the first of the answers. It is nil if there are none.
    public private(set) var version: SecondCheck.Version?
    private var answers: [ObjectIdentifier: (batch: Batch, answer: SecondCheck.Answer)] = [:]

    public init() {}

    /// Forgets the answers of other versions. The answers that are noted next belong to this version.
    public mutating func begin(at version: SecondCheck.Version) {
        if version != self.version { removeAll() }
        self.version = version
    }

    /// Notes an answer that the check gave after the version of `begin` was read.
    public mutating func note(_ answer: SecondCheck.Answer, of batch: Batch) {
        assert(version != nil, "an answer belongs to no version")
        answers[ObjectIdentifier(batch)] = (batch, answer)
    }

    public mutating func removeAll() {
        version = nil
        answers.removeAll(keepingCapacity: true)
    }

    /// Returns true if the batch has an answer that belongs to this version.
    func has(_ batch: Batch, at version: SecondCheck.Version?) -> Bool {
        version == self.version && answers[ObjectIdentifier(batch)] != nil
    }

    /// The answer for the batch. A batch without an answer passes: it was made, in the same act, of what is left of a batch with an answer.
    subscript(batch: Batch) -> SecondCheck.Answer { answers[ObjectIdentifier(batch)]?.answer ?? .pass }
}

extension SecondCheck.Answer {
    /// Returns the answer for the part of the batch that has only these events.
    func part(_ indices: [Int]) -> SecondCheck.Answer {
        guard case .refused(let refused) = self else { return self }
        assert(zip(indices, indices.dropFirst()).allSatisfy(<), "the events of a part are not in their order")
        let all = Set(refused)
        let part = indices.indices.filter { all.contains(indices[$0]) }
        let kept = Set(indices)
        let receipts = zip(refused.events, refused.receipts).filter { kept.contains($0.0) }.map(\.1)
        return part.isEmpty ? .pass : .refused(SecondCheck.Refused(part, receipts: receipts))
    }
}
