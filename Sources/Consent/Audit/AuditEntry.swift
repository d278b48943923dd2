// The entries of a trail: JSON objects on one line. An entry names people and events by keyed hashes only, so that an erasure never has to
// change the trail.

public import ConsentGate
internal import Encoding
public import Ledger
internal import MerkleLog
internal import Platform

public struct AuditEntry: Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// A router or a command began to use the trail.
        case start
        /// A plan was loaded. Its text is kept beside.
        case plan
        /// The keys of the configuration are others than before.
        case keys
        /// A decision on consent was written to the ledger.
        case decision
        /// Ids were tied to one person, or untied.
        case tie, untie
        /// Consent was withdrawn: the events of these subjects are to be destroyed.
        case withdrawal
        /// Waiting events were destroyed, for a withdrawal or by a person.
        case destroyed
        /// What waits for a provider was given to another one.
        case moved
        /// Everything of a withdrawal is destroyed.
        case finished
        /// Old decisions and receipts were deleted from the ledger.
        case forgotten
        /// The ledger was changed, and the entries of the changes were not written then. Those that its history has follow.
        case recovered
        /// The ledger of the state folder is another one, or is behind the trail, and a person has accepted that.
        case accepted
        /// A step of an erasure at a provider.
        case erasure
        /// Dead letters were sent again.
        case replay
        /// A person looked at events or records.
        case access
        /// Damage was found in a file of the state folder.
        case damage
        /// What became of the events of one or more blocks.
        case verdicts
        /// Verdicts that could not be written.
        case lost
        /// Old entries or verdicts were deleted from the disk.
        case pruned
    }

    public var kind: Kind
    /// The time, in nanoseconds since 1970.
    public var at: Int64
    /// The members after the common ones, with values in JSON.
    private(set) var members: [(name: String, json: String)] = []
    /// The position of the ledger after this entry. It is nil if the entry does not change it.
    public var ledger: LedgerPosition?

    /// A text that is kept beside the trail, and that the entry names by its hash. It is nil if there is none.
    public var kept: [UInt8]?

    public init(_ kind: Kind, at time: Int64) {
        self.kind = kind
        at = time
    }

    public mutating func add(_ name: String, _ text: String) { members.append((name, jsonQuoted(text))) }
    public mutating func add(_ name: String, _ number: Int) { members.append((name, String(number))) }
    public mutating func add(_ name: String, _ texts: [String]) {
        members.append((name, "[\(texts.map(jsonQuoted).joined(separator: ","))]"))
    }
    public mutating func add(_ name: String, json: String) { members.append((name, json)) }

    public mutating func add(_ terms: ConsentTerms) {
        if terms.isWithdrawn { return add("withdrawn", json: "true") }
        if let level = terms.level { add("level", level) }
        if !terms.granted.isEmpty { add("granted", terms.granted) }
        if !terms.denied.isEmpty { add("denied", terms.denied) }
        if let version = terms.version { add("version", version) }
    }

    /// Returns the bytes of the entry. `plan` is the hash of the plan in force, and `ledger` the position of the ledger. If the entry would be
    /// longer than an entry can be, `keep` gets its text and returns the hash by which the entry then names it.
    func bytes(
        plan: String?, ledger: LedgerPosition?, keep: ([UInt8]) throws(StorageFault) -> String
    ) throws(StorageFault) -> [UInt8] {
        let whole = text(plan: plan, ledger: ledger, members)
        if whole.count <= Tiles.mostEntryBytes { return whole }
        let short = members.filter { $0.json.utf8.count <= AuditEntry.longest }
        let entry = text(plan: plan, ledger: ledger, short + [("text_sha256", jsonQuoted(try keep(whole)))])
        precondition(entry.count <= Tiles.mostEntryBytes, "an entry has too many members")
        return entry
    }

    /// The most bytes of a member of an entry whose text is kept beside.
    private static let longest = 1000

    private func text(plan: String?, ledger: LedgerPosition?, _ members: [(name: String, json: String)]) -> [UInt8] {
        var text = #"{"kind":"\#(kind.rawValue)","at":"\#(exactTimestamp(at))""#
        if let plan { text += #","plan":"\#(plan)""# }
        if let ledger { text += #","ledger":\#(ledger.json)"# }
        for member in members { text += ",\(jsonQuoted(member.name)):\(member.json)" }
        return Array((text + "}").utf8)
    }
}

extension LedgerPosition {
    fileprivate var json: String { #"{"file":"\#(name)","commits":\#(commits),"written":\#(written)}"# }
}

/// Returns a time in nanoseconds since 1970 with all digits that it has.
func exactTimestamp(_ time: Int64) -> String {
    var text: [UInt8] = []
    TimeText.write(time, to: .exact) { text.append($0) }
    return String(decoding: text, as: UTF8.self)
}
