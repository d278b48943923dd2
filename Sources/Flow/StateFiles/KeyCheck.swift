// Finds out whether a file was encrypted under the given key, before any encrypted row is used.

public import Database
public import Platform

extension Database {
    private static let place = "check"

    /// Throws `foreign` if the file needs another key, and changes nothing. Returns true if the file does not have the given key on record
    /// yet.
    ///
    /// The file must have the table `about` (name, value) and the named table, whose column `sealed` is 1 for an encrypted row.
    /// `application` is the mark of the kind of file if this function verifies the checksums of `about`. It is nil if the rows have no
    /// checksums or if triggers maintain them.
    public func admits(_ cipher: Cipher?, sealing table: String, application: Int64? = nil) throws(StorageFault) -> Bool {
        let sum = application == nil ? "NULL" : "checksum"
        let check = try statement("SELECT name, value, \(sum) FROM about WHERE name = 'check'")
        defer { check.reset() }
        guard try check.step() else { return cipher != nil }
        if let application {
            var sum = RowChecksum(application, table: "about", row: "check")
            sum.add(1...1, of: check)
            guard !check.isNull(2), check.int(2) == sum.value else {
                throw StorageFault(.damaged, "\(path): its table 'about' is damaged")
            }
        }
        guard let cipher else {
            if try number("SELECT 1 FROM \(table) WHERE sealed = 1 LIMIT 1") == nil { return false }
            throw StorageFault(.foreign, "\(path): its events are encrypted; name the key in state.encrypt, or move the file away")
        }
        guard cipher.open(check.bytes(1), at: Database.place) != nil else {
            throw StorageFault(
                .foreign, "\(path): was encrypted under another key, not that of state.encrypt; name the right key, or move the file away"
            )
        }
        return false
    }

    /// Puts the key on record in the file. From now on the file is under this key.
    public func note(_ cipher: Cipher?, application: Int64? = nil) throws(StorageFault) {
        guard let cipher else { return }
        let sealed = Array("switchyard".utf8).withUnsafeBytes { cipher.seal($0, at: Database.place) }
        try sealed.withUnsafeBufferPointer { (bytes) throws(StorageFault) in try putCheck(UnsafeRawBufferPointer(bytes), application) }
    }

    /// Writes the row by which `admits` recognizes the key.
    public func putCheck(_ bytes: UnsafeRawBufferPointer, _ application: Int64?) throws(StorageFault) {
        let insert = try statement(
            application == nil
                ? "INSERT INTO about (name, value) VALUES ('check', ?1)" : "INSERT OR REPLACE INTO about VALUES ('check', ?1, ?2)")
        if let application {
            var sum = RowChecksum(application, table: "about", row: "check")
            sum.add(bytes)
            insert.bind(2, sum.value)
        }
        try insert.bind(1, lending: bytes).run()
    }
}
