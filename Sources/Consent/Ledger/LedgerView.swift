// Looks up the records of some subjects in a ledger that a router may have open. It is for callers that judge a few events and change
// nothing. It promises that records which cannot be read deny.

public import Admission
public import ConsentGate
public import Platform

public final class LedgerView: Sendable {
    /// The sixteen bytes of the key that subjects are hashed with.
    public let key: [UInt8]
    /// The records that were looked up. It has no records of other subjects.
    public let records = ConsentRecords()
    private let state: Monitor<State>

    private struct State {
        var file: LedgerFile?
        var fault: StorageFault?
        /// The last receipt that was read.
        var lastReceipt: Int64 = 0
        /// The withdrawals that were read and not taken yet.
        var withdrawals: [RecordedWithdrawal] = []
    }

    /// Makes a view of the file. `file` is nil if there is no ledger yet, so that nothing is on record.
    public init(_ file: LedgerFile?, key: [UInt8]) {
        self.key = key
        state = Monitor(State(file: file))
    }

    /// The reason why the ledger could not be read, or nil.
    public var fault: StorageFault? { state.withLock { $0.fault } }

    /// The withdrawals on record at the last lookup that were not taken yet.
    public var withdrawals: [RecordedWithdrawal] { state.withLock { $0.withdrawals } }

    /// Takes the withdrawals on record at the last lookup that were not taken before.
    public func takeWithdrawals() -> [RecordedWithdrawal] {
        state.withLock { state in
            defer { state.withdrawals = [] }
            return state.withdrawals
        }
    }

    /// Reads the current records of these subjects into `records`.
    public func look(up subjects: some Sequence<SubjectKey>) {
        let subjects = Set(subjects)
        state.withLock { state in
            guard let file = state.file, !subjects.isEmpty else { return }
            let keys = Array(subjects)
            do throws(StorageFault) {
                let terms = try file.terms(of: keys.map { ShortHash(high: $0.high, low: $0.low) })
                for (key, terms) in zip(keys, terms) { records.set(key, terms) }
                while let last = try file.withdrawals(after: state.lastReceipt, most: 10_000).take(into: &state.withdrawals) {
                    state.lastReceipt = last
                }
                records.isClockBehind = file.isClockBehind
                records.isUnreadable = false
            } catch {
                state.fault = error
                records.isUnreadable = true
            }
        }
    }

    public func close() { state.withLock { $0.file?.close() } }
}

extension [RecordedWithdrawal] {
    /// Appends all to the list. Returns the last receipt, or nil if there is none.
    fileprivate func take(into list: inout [RecordedWithdrawal]) -> Int64? {
        list += self
        return last?.receipt
    }
}
