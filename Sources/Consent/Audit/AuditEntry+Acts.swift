// The entries about consent: what a write of the ledger did, with the subjects hashed under the key of the trail.

public import Ledger
internal import Platform

extension AuditEntry {
    /// Makes the entry of an act. `isLate` is true if the act was found in the ledger at a start, because its entry had not been written.
    public init(_ act: LedgerAct, at time: Int64, keys: AuditKeys, isLate: Bool = false) {
        func hash(_ short: ShortHash) -> String { keys.hash(subject: short.bytes) }
        switch act {
        case .decided(let short, let terms, let decided, let received, let origin, let holds):
            self.init(.decision, at: time)
            add("subject", hash(short))
            add(terms)
            add("decided", exactTimestamp(decided))
            add("received", exactTimestamp(received))
            add("origin", origin)
            if !holds { add("holds", json: "false") }
        case .tied(let shorts):
            self.init(.tie, at: time)
            add("subjects", shorts.map(hash))
        case .untied(let short):
            self.init(.untie, at: time)
            add("subject", hash(short))
        case .withdrawn(let receipt, let shorts, let purposes, let origin):
            self.init(.withdrawal, at: time)
            add("receipt", Int(receipt))
            add("subjects", shorts.map(hash))
            if let purposes { add("purposes", purposes) }
            add("origin", origin)
        case .destroyed(let receipt, let line):
            self.init(.destroyed, at: time)
            add("receipt", Int(receipt))
            add("place", line.place)
            add("events", line.events)
            add("bytes", line.bytes)
            add("in_hands", line.inHands)
        case .finished(let receipt):
            self.init(.finished, at: time)
            add("receipt", Int(receipt))
        case .forgot(let before):
            self.init(.forgotten, at: time)
            add("before", exactTimestamp(before))
        case .believedClock(let now):
            self.init(.forgotten, at: time)
            add("times_after", exactTimestamp(now))
        }
        if isLate { add("late", json: "true") }
    }

    // MARK: - Other things that happen

    /// A plan was loaded. Its text is kept under the hash.
    public static func plan(_ hash: String, file: String, at time: Int64) -> AuditEntry {
        var entry = AuditEntry(.plan, at: time)
        entry.add("file", file)
        entry.add("text_sha256", hash)
        return entry
    }

    /// The keys of the configuration by their use. At a start, the entry `start` has them too: a name and a fingerprint for each.
    public static func keys(_ keys: [(use: String, name: String, fingerprint: String)], at time: Int64) -> AuditEntry {
        var entry = AuditEntry(.keys, at: time)
        entry.add(keys: keys)
        return entry
    }

    mutating func add(keys: [(use: String, name: String, fingerprint: String)]) { add("keys", json: AuditEntry.json(keys)) }

    /// Returns the keys as a JSON object. It has a member for each use.
    static func json(_ keys: [(use: String, name: String, fingerprint: String)]) -> String {
        "{\(keys.map { "\(jsonQuoted($0.use)):\(jsonQuoted("\($0.name) \($0.fingerprint)"))" }.joined(separator: ","))}"
    }

    /// A person looked at something. `subject` is the short hash of the person whose records were asked for.
    public static func access(
        _ what: String, subject: ShortHash? = nil, count: Int? = nil, at time: Int64, keys: AuditKeys, user: UInt32? = nil
    ) -> AuditEntry {
        var entry = AuditEntry(.access, at: time)
        entry.add("what", what)
        if let subject { entry.add("subject", keys.hash(subject: subject.bytes)) }
        if let count { entry.add("count", count) }
        if let user { entry.add("uid", Int(user)) }
        return entry
    }

    /// A step of an erasure at a provider, such as `waiting`, `asked`, `confirmed` or `given_up`. The receipts are those of the withdrawals
    /// that it follows; their entries have the subjects. The answer of the provider must not contain ids.
    public static func erasure(
        _ job: Int64, provider: String, step: String, receipts: [Int64], answer: String? = nil, at time: Int64
    ) -> AuditEntry {
        var entry = AuditEntry(.erasure, at: time)
        entry.add("job", Int(job))
        entry.add("provider", provider)
        entry.add("step", step)
        entry.add("receipts", json: "[\(receipts.map { String($0) }.joined(separator: ","))]")
        if let answer { entry.add("answer", answer) }
        return entry
    }

    /// A person begins to send dead letters again. `provider` is nil if those of all providers are sent.
    public static func replayBegins(provider: String?, user: UInt32, at time: Int64) -> AuditEntry {
        var entry = AuditEntry(.replay, at: time)
        entry.add("step", "begun")
        if let provider { entry.add("provider", provider) }
        entry.add("uid", Int(user))
        return entry
    }

    /// Dead letters of a provider were sent again.
    public static func replay(_ provider: String, counts: [(name: String, count: Int)], at time: Int64) -> AuditEntry {
        var entry = AuditEntry(.replay, at: time)
        entry.add("step", "ended")
        entry.add("provider", provider)
        for count in counts { entry.add(count.name, count.count) }
        return entry
    }

    /// A person destroys what waits for a provider. `events` is nil if their number is unknown.
    public static func destroyed(_ place: String, events: Int?, user: UInt32, at time: Int64) -> AuditEntry {
        var entry = AuditEntry(.destroyed, at: time)
        entry.add("place", place)
        if let events { entry.add("events", events) }
        entry.add("uid", Int(user))
        return entry
    }

    /// A person gives what waits for one provider to another.
    public static func moved(from old: String, to new: String, user: UInt32, at time: Int64) -> AuditEntry {
        var entry = AuditEntry(.moved, at: time)
        entry.add("from", old)
        entry.add("to", new)
        entry.add("uid", Int(user))
        return entry
    }

    /// Damage was found. The words name the file.
    public static func damage(_ words: String, at time: Int64) -> AuditEntry {
        var entry = AuditEntry(.damage, at: time)
        entry.add("words", words)
        return entry
    }
}

extension ShortHash {
    /// The sixteen bytes.
    var bytes: [UInt8] { [high, low].flatMap { word in withUnsafeBytes(of: word.bigEndian) { [UInt8]($0) } } }
}
