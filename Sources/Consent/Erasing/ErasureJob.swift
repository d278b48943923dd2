// A job: one provider is asked to erase some ids, again and again, until it has confirmed that it holds nothing of them any more, until a
// person must act there, or until the time is over. This file has the job as a value; it knows no clock and no file.

public import Delivery

/// An id as a person or an event names it.
public struct NamedID: Hashable, Sendable {
    /// The path of the member that held the id. It is nil if the id may have been in any member of `consent.subject`.
    public var member: String?
    public var id: String

    public init(_ id: String, member: String? = nil) {
        self.id = id
        self.member = member
    }
}

public struct ErasureJob: Sendable, Equatable {
    /// The raw values are the words of receipts, metrics and the file.
    public enum Phase: String, Sendable, CaseIterable {
        /// Nothing was answered yet.
        case waiting
        /// The provider is at work, or could not answer. It is asked again.
        case asked
        /// The provider has confirmed that it holds nothing of the ids any more.
        case confirmed
        /// The provider cannot erase all of it. A person must act there.
        case byHand = "by_hand"
        /// The time is over without a confirmation. A person must act.
        case givenUp = "given_up"
        /// A person has said that the ids are erased.
        case done

        /// The phase as a person reads it.
        public var words: String {
            switch self {
            case .waiting: "waiting"
            case .asked: "asked"
            case .confirmed: "confirmed"
            case .byHand: "to be done by hand"
            case .givenUp: "given up"
            case .done: "done by hand"
            }
        }

        /// True if the provider will be asked again.
        public var isOpen: Bool { self == .waiting || self == .asked }
        /// True if a person must act.
        public var needsPerson: Bool { self == .byHand || self == .givenUp }
    }

    /// An id in the form in which the provider got it, and what became of it.
    public struct Subject: Sendable, Equatable {
        public enum State: Sendable, Equatable {
            case open, confirmed
            /// The provider cannot erase it, for this reason.
            case refused(String)
        }
        public var subject: SubjectID
        public var state = State.open

        public init(_ subject: SubjectID, _ state: State = .open) {
            self.subject = subject
            self.state = state
        }
    }

    /// What only the router may read. It is encrypted in the file, and destroyed when the job has ended.
    public struct Contents: Sendable, Equatable {
        /// The ids as they were named.
        public var named: [NamedID]
        /// The ids as the provider knows them.
        public var subjects: [Subject]
        /// What the provider wants to get back with the next ask, such as a job number.
        public var state: [UInt8] = []

        public init(named: [NamedID], subjects: [Subject], state: [UInt8] = []) {
            self.named = named
            self.subjects = subjects
            self.state = state
        }
    }

    /// The number of the job. It is 0 before the job is in the file.
    public var number: Int64 = 0
    public var provider: String
    /// The name of the module that the provider had. The ids are never given to another one.
    public var plugin: String
    public var phase = Phase.waiting
    /// Who asked for the erasure, such as `command` or `source NAME`.
    public var origin: String
    public var begun: Int64
    /// When the provider is asked next. It is nil if it is not asked any more.
    public var next: Int64?
    public var attempts = 0
    /// When the provider was asked last.
    public var asked: Int64?
    /// When the job ended, or when a person began to be needed.
    public var ended: Int64?
    /// The provider's code of its last answer, or 0, and the answer in words. The words hold no id.
    public var code = 0
    public var words = ""
    /// The withdrawals that the erasure belongs to, by their receipts.
    public var receipts: [Int64]
    /// Ids of the same persons that are known only as hashes, as `KEY:DIGITS`. Nobody can ask for them.
    public var outOfReach: [String] = []
    /// It is nil after the job has ended, and if the contents are unreadable.
    public var contents: Contents?
    /// True if the key that encrypted the contents is not configured.
    public var isUnreadable = false

    public init(provider: String, plugin: String, origin: String, begun: Int64, receipts: [Int64], contents: Contents) {
        self.provider = provider
        self.plugin = plugin
        self.origin = origin
        self.begun = begun
        self.receipts = receipts
        self.contents = contents
    }

    /// The most ids of a job. More ids make more jobs, because a provider asks its vendor about each.
    public static let mostIDs = 50
}
