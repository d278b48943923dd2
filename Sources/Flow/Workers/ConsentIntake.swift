// What a worker needs to take in what the events of one block say to the ledger.

internal import Admission
internal import Platform

/// For one block.
public struct ConsentIntake {
    /// Whether the source of the block, or the key it came with, may write the ledger.
    public let mayWrite: Bool
    /// How often the stream had changed what is on record when the block was begun.
    public let epoch: UInt32
    public let ties: KnownTies
    /// How many ids had been set apart from others then.
    public let unties: Int
    /// An event was taken to say nothing new since its ids were known to be tied.
    public var trustedTies = false

    public init(mayWrite: Bool, epoch: UInt32, ties: KnownTies, unties: Int) {
        self.mayWrite = mayWrite
        self.epoch = epoch
        self.ties = ties
        self.unties = unties
    }
}
