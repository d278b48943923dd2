// Makes the second check refuse the events of withdrawals that are not finished.

internal import Admission
public import ConsentGate

extension SecondCheck {
    /// From now on, refuses the events that the withdrawal destroys.
    public func ban(_ receipt: WithdrawalReceipt) {
        ban(
            receipt.number, receipt.subjects.map { SubjectKey(high: $0.high, low: $0.low) }, purposes: receipt.purposes,
            until: receipt.begun)
    }
}
