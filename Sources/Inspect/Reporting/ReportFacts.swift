// What the state folder of a router adds to a report, read at one moment.

public import Ledger
public import Platform

public struct ReportFacts: Sendable {
    /// A job that asks a provider to erase a person, and that is not done.
    public struct Erasure: Sendable {
        public var provider: String
        public var asked: Int64
        /// What is known of it, in words.
        public var state: String

        public init(provider: String, asked: Int64, state: String) {
            self.provider = provider
            self.asked = asked
            self.state = state
        }
    }

    public struct DamagedFile: Sendable {
        public var name: String
        public var bytes: Int

        public init(name: String, bytes: Int) {
            self.name = name
            self.bytes = bytes
        }
    }

    public var summary: LedgerSummary
    public var months: [ConsentMonth]
    public var withdrawals: WithdrawalFacts
    public var erasures: [Erasure]
    public var damaged: [DamagedFile]

    public init(
        summary: LedgerSummary, months: [ConsentMonth], withdrawals: WithdrawalFacts, erasures: [Erasure] = [], damaged: [DamagedFile] = []
    ) {
        self.summary = summary
        self.months = months
        self.withdrawals = withdrawals
        self.erasures = erasures
        self.damaged = damaged
    }

    /// Reads everything from a ledger. The caller adds what lies beside it.
    public static func read(_ file: LedgerFile) throws(StorageFault) -> ReportFacts {
        var withdrawals = WithdrawalFacts()
        var after: Int64 = 0
        while true {
            let receipts = try file.receipts(after: after)
            guard let last = receipts.last else { break }
            for receipt in receipts { withdrawals.add(receipt) }
            after = last.number
        }
        return ReportFacts(summary: try file.summary(), months: try file.decisionsByMonth(), withdrawals: withdrawals)
    }
}

/// The withdrawals on record: all that are open, the latest of the others, and how long the others took.
public struct WithdrawalFacts: Sendable {
    /// The number of finished withdrawals that a report lists.
    public static let listed = 50

    public private(set) var count = 0
    public private(set) var open: [WithdrawalReceipt] = []
    /// The latest finished ones, the newest first.
    public private(set) var latest: [WithdrawalReceipt] = []
    private var times: [Int64] = []

    public init() {}

    /// Adds a receipt. Receipts come in their order.
    public mutating func add(_ receipt: WithdrawalReceipt) {
        count += 1
        guard let finished = receipt.finished else { return open.append(receipt) }
        times.append(max(0, finished - receipt.begun))
        latest.insert(receipt, at: 0)
        if latest.count > WithdrawalFacts.listed { latest.removeLast() }
    }

    /// The times from withdrawal to the end, in nanoseconds. They are nil if none is finished.
    public var median: Int64? { times.isEmpty ? nil : times.sorted()[times.count / 2] }
    public var longest: Int64? { times.max() }
}
