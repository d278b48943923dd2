// The order of blocks that end in any order. A pure value. It promises that the answer of a block which waits is due when all blocks before it
// have ended, in the order of the blocks, and that the answer then knows whether one of them has lost events.

struct BlockOrder {
    typealias Answer = (_ lacksOriginals: Bool) -> Void

    private var entered = 0
    /// The number of blocks, from the first one on, that have ended without a gap.
    private var passed = 0
    /// The blocks after the first gap that have ended.
    private var done: Set<Int> = []
    private var waiting: [Int: (since: Int, give: Answer)] = [:]
    /// For each block that has not ended, the value of `passed` when it entered: no block before that was open then.
    private var openSince: [Int: Int] = [:]
    /// The last block that lost events.
    private var lastLost = -1

    /// Returns the number of the next block.
    mutating func enter() -> Int {
        defer { entered += 1 }
        openSince[entered] = passed
        return entered
    }

    /// Ends a block. Its answer waits for the blocks before it, or is due at once. Returns the answers that are due now.
    mutating func end(_ block: Int, isLost: Bool = false, waits: Bool, answer: @escaping Answer) -> [() -> Void] {
        guard let since = openSince.removeValue(forKey: block) else { preconditionFailure("a block ends that did not enter, or twice") }
        if isLost { lastLost = max(lastLost, block) }
        done.insert(block)
        var due: [() -> Void] = []
        if waits { waiting[block] = (since, answer) } else { due.append { answer(false) } }
        while done.remove(passed) != nil {
            if let (since, give) = waiting.removeValue(forKey: passed) {
                let lacksOriginals = lastLost >= since
                due.append { give(lacksOriginals) }
            }
            passed += 1
        }
        assert(waiting.keys.allSatisfy { $0 > passed }, "a block waits though all blocks before it have ended")
        return due
    }
}
