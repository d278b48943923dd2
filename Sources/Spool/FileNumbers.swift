// What a spool file calls the routes or the levels of its events: numbers of its own for the names of the run, since the run's are given
// anew each time.

internal import Database
internal import Platform
internal import Policy

struct FileNumbers {
    private let table: String
    private let names: RunNames
    /// The file's by the run's, and the other way round.
    private var ofFile: [UInt16: UInt16] = [:]
    private var ofRun: [UInt16: UInt16] = [:]

    init(table: String, names: RunNames) {
        self.table = table
        self.names = names
    }

    /// The file's number for the run's, if it has one.
    func file(_ run: UInt16) -> UInt16? { ofFile[run] }
    /// The run's number for the file's; nil: the file makes no sense, or the run knows as many names as it can.
    func run(_ file: UInt16) -> UInt16? { ofRun[file] }

    mutating func read(_ database: Database) throws(SpoolFault) {
        (ofFile, ofRun) = ([:], [:])
        let all = try database.statement("SELECT number, name FROM \(table)")
        defer { all.reset() }
        while try all.step() {
            guard let number = UInt16(exactly: all.int(0)), let known = names.number(of: all.text(1)) else { continue }
            ofFile[known] = number
            ofRun[number] = known
        }
    }

    /// The file's number for the run's, a new one if need be. Part of a transaction; what it changed is to be put back if that fails.
    mutating func number(of run: UInt16, in database: Database) throws(SpoolFault) -> UInt16 {
        if let known = ofFile[run] { return known }
        guard let number = (0...UInt16.max).first(where: { ofRun[$0] == nil }) else {
            throw SpoolFault(.failed, "\(database.path): knows as many \(table) as it can")
        }
        try database.statement("INSERT OR REPLACE INTO \(table) VALUES (?1,?2)").bind(1, Int(number)).bind(2, names[run]).run()
        ofFile[run] = number
        ofRun[number] = run
        return number
    }
}
