// The data that a worker needs to take the statements for the ledger from the events of one block.

internal import Admission
internal import Platform

public struct ConsentIntake {
    /// True if the source of the block, or the key that it came with, may write to the ledger.
    public let mayWrite: Bool
    /// The number of changes that the stream had made when the work on the block began.
    public let epoch: UInt32
    public let ties: KnownTies
    /// The number of ids that had been untied at that time.
    public let unties: Int
    /// True if an event was taken to state nothing new because its ids were known to be tied.
    public var trustedTies = false

    public init(mayWrite: Bool, epoch: UInt32, ties: KnownTies, unties: Int) {
        self.mayWrite = mayWrite
        self.epoch = epoch
        self.ties = ties
        self.unties = unties
    }
}
