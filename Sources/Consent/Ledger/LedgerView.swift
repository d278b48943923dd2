// What is on record of some subjects, looked up in a ledger that a router may have at the same time: for those who judge a few events and
// change nothing. It promises that what cannot be read denies.

public import Admission
public import ConsentGate
public import Platform

public final class LedgerView: Sendable {
    /// Sixteen bytes under which subjects are known.
    public let key: [UInt8]
    /// What was looked up, and of nobody else anything.
    public let records = ConsentRecords()
    private let state: Monitor<State>

    private struct State {
        var file: LedgerFile?
        var fault: StorageFault?
        public var unfinished: [WithdrawalReceipt] = []
    }

    /// `file`: nil: nothing is on record of anybody yet.
    public init(_ file: LedgerFile?, key: [UInt8]) {
        self.key = key
        state = Monitor(State(file: file))
    }

    /// Why it could not be read.
    public var fault: StorageFault? { state.withLock { $0.fault } }

    /// Withdrawals whose destruction was not done when something was looked up last.
    public var unfinished: [WithdrawalReceipt] { state.withLock { $0.unfinished } }

    /// From now on what is on record of these subjects is known as it is now.
    public func look(up subjects: some Sequence<SubjectKey>) {
        let subjects = Set(subjects)
        state.withLock { state in
            guard let file = state.file, !subjects.isEmpty else { return }
            let keys = Array(subjects)
            do throws(StorageFault) {
                let terms = try file.terms(of: keys.map { ShortHash(high: $0.high, low: $0.low) })
                for (key, terms) in zip(keys, terms) { records.set(key, terms) }
                state.unfinished = try file.unfinishedReceipts()
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
