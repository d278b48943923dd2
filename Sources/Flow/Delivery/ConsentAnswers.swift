// The answers of the second check for some batches of a lane, as a value. A lane collects them while it does not hold its lock and hands
// them to its state, which compares their version with the present one. The collection keeps its batches alive.

internal import Admission
internal import ConsentGate

struct ConsentAnswers {
    /// The version of consent before the first of the answers. It is nil if there are none.
    private(set) var version: SecondCheck.Version?
    private var answers: [ObjectIdentifier: (batch: Batch, answer: SecondCheck.Answer)] = [:]

    /// Asks the check about these batches. Answers of an older version are forgotten.
    mutating func ask(_ check: SecondCheck, about batches: [Batch]) {
        // The version is read first. A change that comes during the check then has a later version, and the answers count as stale.
        let version = check.version
        if version != self.version { removeAll() }
        self.version = version
        for batch in batches { answers[ObjectIdentifier(batch)] = (batch, check.answer(batch)) }
    }

    mutating func removeAll() {
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
        return part.isEmpty ? .pass : .refused(part)
    }
}
