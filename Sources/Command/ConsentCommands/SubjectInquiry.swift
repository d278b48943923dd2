// Gathers everything that a router holds about a person, for an access request: the records of the ledger, the events that wait, and the
// dead letters. Each is one object on one line, with its place. It reads the files as they are and changes nothing. It visits the places
// in a fixed order and answers in parts. Each part begins with the cursor for the next one.

internal import Admission
internal import DeadLetterStore
internal import Erasing
internal import HeldEventStore
internal import Ledger
internal import Plans
internal import Platform
internal import Spool
internal import Startup
internal import StateFiles
internal import Withdrawal

struct SubjectInquiry {
    /// The kinds of places, in the order of visits. Places of the same kind are ordered by name.
    private enum Kind: Int { case ledger, memory, queue, held, deadLetters, overview }

    private struct Place: Comparable {
        var kind: Kind
        /// The provider of a queue. It is empty for all other kinds.
        var name = ""

        static func < (a: Place, b: Place) -> Bool { (a.kind.rawValue, a.name) < (b.kind.rawValue, b.name) }
    }

    /// Where the next part begins: after this row in this place, or in the next place if this one no longer exists.
    private struct Cursor {
        var place = Place(kind: .ledger)
        var row: Int64 = 0

        init(_ place: Place = Place(kind: .ledger), row: Int64 = 0) { (self.place, self.row) = (place, row) }

        init?(_ text: String) {
            let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, let kind = Int(parts[0]).flatMap(Kind.init), let row = Int64(parts[1]), row >= 0 else { return nil }
            (place, self.row) = (Place(kind: kind, name: String(parts[2])), row)
        }
        var text: String { "\(place.kind.rawValue):\(row):\(place.name)" }
    }

    private let id: LedgerID
    private let folder: String
    private let plan: Plan
    private let ledger: ConsentLedger
    private let erasures: Erasures
    private let subjects: Set<SubjectKey>
    private let own: SubjectKey
    private let cipher: Cipher?
    private let hasOverview: Bool
    private var lines = ""

    /// The number of bytes of events at which a part ends.
    private static let part = 1 << 20

    /// With an overview, it also says who may have something of the person, and what could not be searched.
    init(
        _ id: LedgerID, _ ledger: ConsentLedger, _ erasures: Erasures, folder: String, by plan: Plan, hasOverview: Bool
    ) throws(ConsentRefusal) {
        self.erasures = erasures
        self.hasOverview = hasOverview
        self.id = id
        self.folder = folder
        self.plan = plan
        self.ledger = ledger
        cipher = plan.state.encrypt.map { Cipher(plan.keys[$0].secret) }
        let person = try ledger.use { (file) throws(StorageFault) in ((file.short(of: id), try file.person(of: id)), []) }
        own = SubjectKey(high: person.0.high, low: person.0.low)
        subjects = Set(person.1.map { SubjectKey(high: $0.high, low: $0.low) })
    }

    /// Returns the lines of a part. The first line has the cursor for the next part. It is empty in the last part.
    mutating func answer(after text: String?) throws(ConsentRefusal) -> [UInt8] {
        guard var cursor = text.map({ Cursor($0) }) ?? Cursor() else {
            throw ConsentRefusal(400, "after must be the value from an earlier answer")
        }
        let places = places
        assert(places == places.sorted(), "the places are not in the order in which they are visited")
        for place in places where place >= cursor.place {
            var row: Int64? = place == cursor.place ? cursor.row : 0
            while let next = row {
                cursor = Cursor(place, row: next)
                if lines.utf8.count >= SubjectInquiry.part { return Array("\(cursor.text)\n\(lines)".utf8) }
                row = try look(place, after: next)
            }
        }
        return Array("\n\(lines)".utf8)
    }

    private var places: [Place] {
        [Place(kind: .ledger), Place(kind: .memory)] + StateFolder.spools(in: folder).map { Place(kind: .queue, name: $0) }.sorted()
            + [Place(kind: .held), Place(kind: .deadLetters)] + (hasOverview ? [Place(kind: .overview)] : [])
    }

    /// Adds events of a place to the part. Returns the row to continue after, or nil if the place has no more.
    private mutating func look(_ place: Place, after row: Int64) throws(ConsentRefusal) -> Int64? {
        do throws(StorageFault) {
            switch place.kind {
            case .ledger: try lookIntoLedger()
            case .memory: lookIntoMemory()
            case .queue: return try look(intoQueueOf: place.name, after: row)
            case .held: return try lookIntoHeld(after: row)
            case .deadLetters: return try lookIntoDeadLetters(after: row)
            case .overview: try addOverview()
            }
            return nil
        } catch {
            throw ConsentRefusal(500, error.description)
        }
    }

    // MARK: - The places

    private mutating func lookIntoLedger() throws(StorageFault) {
        let (entry, receipts) = try recorded
        let ties = (entry?.ties ?? []).map { "{\"hmac\":\"\($0.digits)\",\"key\":\(jsonQuoted($0.key))}" }
        lines += "{\"place\":\"ledger\"," + entry.json.dropFirst().dropLast() + ",\"ties\":[\(ties.joined(separator: ","))]}\n"
        for receipt in receipts {
            lines += "{\"place\":\"receipts\"," + receipt.json(try erasures.jobs(of: receipt.number)).dropFirst() + "\n"
        }
    }

    /// What the ledger has of the id.
    private var recorded: (LedgerEntry?, [WithdrawalReceipt]) {
        get throws(StorageFault) {
            let id = id
            do throws(ConsentRefusal) {
                return try ledger.use { (file) throws(StorageFault) in ((try file.get(id), try file.receipts(of: id)), []) }
            } catch {
                throw StorageFault(.failed, error.message)
            }
        }
    }

    private mutating func addOverview() throws(StorageFault) {
        let receipts = try recorded.1
        var jobs: [ErasureJob] = []
        for receipt in receipts { jobs += try erasures.jobs(of: receipt.number) }
        lines +=
            SubjectOverview(
                plan: plan,
                known: ErasureStore.storedProviders(in: folder).union(try erasures.receivers().map(\.provider)), receipts: receipts,
                jobs: jobs,
                setAside: SetAsideFiles(in: folder).names
            ).lines
    }

    private mutating func lookIntoMemory() {
        guard case .running(_, let withdrawals) = ledger else { return }
        for (provider, batch, routes) in withdrawals.inMemory(of: subjects) { add(batch, place: "memory of \(provider)", routes: routes) }
    }

    private mutating func look(intoQueueOf provider: String, after row: Int64) throws(StorageFault) -> Int64? {
        guard let spool = try SpoolSearch(StateFolder.spool(of: provider, in: folder), cipher: cipher) else { return nil }
        defer { spool.close() }
        let page = try spool.events(of: subjects, after: row, most: SubjectInquiry.part)
        let place = "queue of \(provider)"
        for found in page.found { add(found.batch, place: place, routes: found.routes) }
        if page.unreadable > 0 { lines += "{\"place\":\(jsonQuoted(place)),\"unreadable_batches\":\(page.unreadable)}\n" }
        return page.next
    }

    private mutating func lookIntoHeld(after row: Int64) throws(StorageFault) -> Int64? {
        var options = HeldFile.Options()
        options.cipher = cipher
        let names = RunNames()
        let path = folder + "/" + HeldFile.name
        // A router may have the file. Only that router repairs it.
        guard let file = try HeldFile(lookingAt: path, verifies: row == 0, names: names, options: options) else { return nil }
        defer { file.close() }
        let page = try file.events(of: Array(subjects), after: row, most: 1000, bytes: SubjectInquiry.part, except: { _ in false })
        for found in page.events {
            let routes = found.row.routes.map { jsonQuoted(names[$0]) }.joined(separator: ",")
            let event = found.body.isEmpty ? "null" : String(decoding: found.body[found.row.given...], as: UTF8.self)
            lines += "{\"place\":\"held events\",\"by\":\"\(by(found.row.subjects))\",\"routes\":[\(routes)],"
            lines += "\"arrival\":\(jsonQuoted(timestamp(found.row.arrival))),\"event\":\(event)}\n"
        }
        return page.next
    }

    private mutating func lookIntoDeadLetters(after row: Int64) throws(StorageFault) -> Int64? {
        let path = folder + "/" + DeadLetterFile.name
        guard let file = try DeadLetterFile(path, makes: false, verifies: row == 0, cipher: cipher) else { return nil }
        defer { file.close() }
        let (found, next) = try file.letters(of: subjects, after: row)
        for letter in found {
            lines += "{\"place\":\"dead letters\",\"by\":\"\(by(letter.subjects))\"," + letter.json.dropFirst() + "\n"
        }
        return next
    }

    private mutating func add(_ batch: Batch, place: String, routes: [String]) {
        for index in 0..<batch.count {
            lines += "{\"place\":\(jsonQuoted(place)),\"by\":\"\(by(batch.subjects(of: index)))\","
            lines += "\"route\":\(jsonQuoted(routes[index])),"
            lines += "\"arrival\":\(jsonQuoted(timestamp(batch.arrivals[index]))),"
            lines += "\"event\":\(String(decoding: batch.event(index), as: UTF8.self))}\n"
        }
    }

    /// Returns "id" if the event carries the id itself, or "tie" if it carries only an id that is tied to it.
    private func by(_ subjects: [SubjectKey]) -> String { subjects.contains(own) ? "id" : "tie" }
}
