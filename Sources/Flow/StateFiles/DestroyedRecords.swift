// Keeps in a file of the state folder what withdrawals have destroyed in it, one row of the table `about` for each receipt. The rows change in
// the same transaction as the events leave, so that a kill never separates an event from its count. The count is the whole one, so that it
// may be read and copied to the receipt any number of times.

public import Admission
public import Database
public import Platform

extension Database {
    private static let prefix = "destroyed "

    /// Reads the counts. The file must have the table `about` (name, value). `application` is the mark of the kind of file if this function
    /// verifies the checksums of `about`. It is nil if triggers maintain them. Throws `damaged` for a row that is not whole, unless
    /// `skipsDamaged` is true.
    public func readDestroyed(application: Int64? = nil, skipsDamaged: Bool = false) throws(StorageFault) -> Destroyed {
        var destroyed = Destroyed()
        let all = try statement("SELECT name, value, \(application == nil ? "NULL" : "checksum") FROM about WHERE name GLOB 'destroyed *'")
        defer { all.reset() }
        while try all.step() {
            let (name, value) = (all.text(0), all.text(1))
            let numbers = (name.dropFirst(Database.prefix.count) + " " + value).split(separator: " ").compactMap { Int64($0) }
            var isWhole = numbers.count == 3 && numbers.allSatisfy { $0 >= 0 }
            if let application { isWhole = isWhole && !all.isNull(2) && all.int(2) == Database.sum(application, name, value) }
            if isWhole {
                destroyed.add(numbers[0], events: Int(numbers[1]), bytes: Int(numbers[2]))
            } else if !skipsDamaged {
                throw StorageFault(.damaged, "\(path): its table 'about' is damaged")
            }
        }
        return destroyed
    }

    /// Writes the counts of these receipts in place of those that the file has. Call it inside a transaction.
    public func writeDestroyed(_ whole: Destroyed, of receipts: some Sequence<Int64>, application: Int64? = nil) throws(StorageFault) {
        for receipt in receipts {
            let (name, value) = (Database.prefix + "\(receipt)", "\(whole[receipt].events) \(whole[receipt].bytes)")
            let write = try statement(
                application == nil
                    ? "INSERT INTO about (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                    : "INSERT OR REPLACE INTO about (name, value, checksum) VALUES (?1, ?2, ?3)")
            write.bind(1, name).bind(2, value)
            if let application { write.bind(3, Database.sum(application, name, value)) }
            try write.run()
        }
    }

    private static func sum(_ application: Int64, _ name: String, _ value: String) -> Int64 {
        var sum = RowChecksum(application, table: "about", row: name)
        sum.add(value)
        return sum.value
    }
}
