// Translates between the numbers of routes or levels in a file and those of the run. A file has its own numbers for the names, since each
// run assigns its numbers again.

public import Admission
public import Database
public import Platform

public struct FileNumbers {
    private let table: StaticString
    private let names: RunNames
    /// The mark of the kind of file, for the checksums of the rows. It is nil if the rows have no checksums.
    private let application: Int64?
    /// The file's number for each number of the run.
    private var ofFile: [UInt16: UInt16] = [:]
    /// The run's number for each number of the file.
    private var ofRun: [UInt16: UInt16] = [:]
    /// The key of the proof for each number of the file.
    private var keys: [UInt16: UInt64] = [:]
    /// The sum of the checksums of all rows. It reveals a lost row, whose number would otherwise be given to another name.
    public private(set) var digest: Int64 = 0

    public init(table: StaticString, names: RunNames, application: Int64? = nil) {
        self.table = table
        self.names = names
        self.application = application
    }

    /// Returns the file's number for a number of the run. Returns nil if the file has none.
    public func file(_ run: UInt16) -> UInt16? { ofFile[run] }
    /// Returns the run's number for a number of the file. Returns nil if the file does not have that number or the run has no free number.
    public func run(_ file: UInt16) -> UInt16? { ofRun[file] }
    public func key(_ file: UInt16) -> UInt64 { keys[file] ?? UInt64(file) }
    public func name(_ file: UInt16) -> String? { ofRun[file].map { names[$0] } }

    /// Returns the run's number for a key of the proof, even if the file is lost. Returns the number of `unknown` if no name fits the key.
    public func run(ofKey key: UInt64) -> UInt16? {
        let number = Proof.number(ofKey: key)
        if keys[number] == key, let known = ofRun[number] { return known }
        let name = names.all.first { Proof.isKey(key, of: $0) }
        return names.number(of: name ?? FileNumbers.unknown)
    }
    static let unknown = "unknown"

    private func checksum(_ number: Int64, name: String, application: Int64) -> Int64 {
        var sum = RowChecksum(application, table: table, row: number)
        sum.add(name)
        return sum.value
    }

    public mutating func read(_ database: Database) throws(StorageFault) {
        (ofFile, ofRun, keys, digest) = ([:], [:], [:], 0)
        let all = try database.statement("SELECT number, name\(application == nil ? "" : ", checksum") FROM \(table)")
        defer { all.reset() }
        while try all.step() {
            if let application {
                let sum = checksum(all.int(0), name: all.text(1), application: application)
                guard !all.isNull(2), all.int(2) == sum else {
                    throw StorageFault(.damaged, "\(database.path): its table '\(table)' is damaged")
                }
                digest &+= sum
            }
            guard let number = UInt16(exactly: all.int(0)) else { continue }
            keys[number] = Proof.key(number: number, name: all.text(1))
            guard let known = names.number(of: all.text(1)) else { continue }
            ofFile[known] = number
            ofRun[number] = known
        }
    }

    /// Returns the file's number for a number of the run, and adds a new one if there is none. Must be called inside a transaction. If the
    /// transaction fails, the caller must restore the value from before.
    public mutating func number(of run: UInt16, in database: Database) throws(StorageFault) -> UInt16 {
        if let known = ofFile[run] { return known }
        guard let number = (0...UInt16.max).first(where: { keys[$0] == nil }) else {
            throw StorageFault(.failed, "\(database.path): its table '\(table)' has no free number")
        }
        let name = names[run]
        let (columns, values) = application == nil ? ("number, name", "?1,?2") : ("number, name, checksum", "?1,?2,?3")
        let insert = try database.statement("INSERT INTO \(table) (\(columns)) VALUES (\(values))").bind(1, Int(number)).bind(2, name)
        if let application {
            let sum = checksum(Int64(number), name: name, application: application)
            insert.bind(3, sum)
            digest &+= sum
        }
        try insert.run()
        assert(ofRun[number] == nil && ofFile[run] == nil, "a number has two names")
        keys[number] = Proof.key(number: number, name: name)
        ofFile[run] = number
        ofRun[number] = run
        assert(Proof.number(ofKey: key(number)) == number, "the key of the proof does not have the number")
        return number
    }

    /// Computes the checksums of rows that have none.
    public func sum(_ database: Database) throws(StorageFault) {
        guard let application else { return }
        var rows: [(Int64, String)] = []
        let all = try database.statement("SELECT number, name FROM \(table)")
        while try all.step() { rows.append((all.int(0), all.text(1))) }
        all.reset()
        for (number, name) in rows {
            try database.statement("UPDATE \(table) SET checksum = ?2 WHERE number = ?1").bind(1, number)
                .bind(2, checksum(number, name: name, application: application)).run()
        }
    }
}
