// The settings of a run that do not come from its plan.

public import Admission
public import Audit
public import Erasing
public import Holding
public import Ingest
public import Ledger
public import Platform
public import StateFiles
public import Withdrawal

public struct RouterOptions: Sendable {
    public var workers = 1
    /// The descriptor from which events are read.
    public var input: Int32 = 0
    /// The maximum time in which lanes deliver their remaining events after the end of the input.
    public var drain = Duration.seconds(30)
    /// The same time after the router was told to end.
    public var shutdown = Duration.seconds(10)
    /// True if messages about invalid lines quote them.
    public var showInput = false
    public var rejects: Rejects?
    public var deadLetters: String
    /// The cipher for dead letters. It is nil if they are not encrypted.
    public var cipher: Cipher?
    /// The numbers of all routes, including those in the stores. It is nil if only the plan's routes are known.
    public var names: RunNames?
    /// The key, of sixteen bytes, for the hashes of subjects and message ids. It is nil if a random key for this run is enough.
    public var key: [UInt8]?
    /// The names of all levels, including those in the stores.
    public var levels = RunNames()
    /// The decisions on record, under that key. It is nil if there is no ledger.
    public var registry: Registry?
    /// The audit trail. It is nil if none is kept.
    public var audit: AuditLog?
    /// The place where held events are stored. It is nil if no event can be held; then events that would be held are denied.
    public var held: HeldPlace?
    /// Searches the files of the state folder that belong to no lane. It is nil if the router has no state folder.
    public var strays: Withdrawals.Strays?
    /// The jobs of erasures. They are nil if no ledger is kept.
    public var erasures: ErasureStore?
    /// Returns the providers that have a queue or dead letters in the state folder.
    public var storedProviders: @Sendable () -> Set<String> = { [] }
    /// The path of the file that keeps recent message ids. It is nil if they are not kept; otherwise `key` must not be nil.
    public var seen: String?
    /// The descriptor to which safe lines of standard input are acknowledged. It is nil if none are.
    public var acks: Int32?
    public var clock = Clock.system
    /// The record of how long each thread has been busy.
    public var watchdog = Watchdog()
    /// The seed of the jitter between retries.
    public var seed: UInt64 = 0
    public var blockSize = 256 << 10
    /// The limits for waiting input, if there are sources other than standard input.
    public var inbox = Inbox.Limits()
    public init(deadLetters: String) { self.deadLetters = deadLetters }
}
