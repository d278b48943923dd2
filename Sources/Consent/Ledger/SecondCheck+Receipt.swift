// The second check goes by withdrawals that are not finished.

internal import Admission
public import ConsentGate

extension SecondCheck {
    /// From now on nothing goes of what the withdrawal is to destroy.
    public func ban(_ receipt: WithdrawalReceipt) {
        ban(
            receipt.number, receipt.subjects.map { SubjectKey(high: $0.high, low: $0.low) }, purposes: receipt.purposes,
            until: receipt.begun)
    }
}
