// Makes the second check refuse the events that came in before a withdrawal on record.

internal import Admission
public import ConsentGate
public import Platform

extension SecondCheck {
    /// From now on, refuses the events that the withdrawal destroys.
    public func ban(_ receipt: WithdrawalReceipt) {
        ban(
            RecordedWithdrawal(
                receipt: receipt.number, subjects: receipt.subjects, purposes: receipt.purposes, begun: receipt.begun,
                isFinished: receipt.finished != nil))
    }

    public func ban(_ withdrawal: RecordedWithdrawal) {
        ban(
            withdrawal.receipt, withdrawal.subjects.map { SubjectKey($0) }, purposes: withdrawal.purposes, until: withdrawal.begun,
            isFinished: withdrawal.isFinished)
    }

    /// Notes that the events of a receipt are destroyed, which the ledger has on record.
    public func finish(_ receipt: WithdrawalReceipt) {
        finish(receipt.number, receipt.subjects.map { SubjectKey($0) }, until: receipt.begun)
    }

    /// Refuses the events of all withdrawals on record. Returns the receipts that are not finished.
    public func banAll(of file: LedgerFile) throws(StorageFault) -> [Int64] {
        var unfinished: [Int64] = []
        var last: Int64 = 0
        while true {
            let page = try file.withdrawals(after: last, most: 10_000)
            for withdrawal in page {
                ban(withdrawal)
                if !withdrawal.isFinished { unfinished.append(withdrawal.receipt) }
            }
            guard let next = page.last else { return unfinished }
            assert(next.receipt > last, "receipts are not in order")
            last = next.receipt
        }
    }
}
