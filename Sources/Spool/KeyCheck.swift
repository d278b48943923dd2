// Tells before a sealed row is touched whether a file was encrypted under the key that is given.

internal import Database
internal import Platform

extension Database {
    /// The file has the tables `about` (name, value) and the named one, whose column `sealed` is 1 where a row is encrypted.
    func check(_ cipher: Cipher?, sealing table: String) throws(StorageFault) {
        let check = try statement("SELECT value FROM about WHERE name = 'check'")
        defer { check.reset() }
        let place = "check"
        if try check.step() {
            guard let cipher else {
                if try number("SELECT 1 FROM \(table) WHERE sealed = 1 LIMIT 1") == nil { return }
                throw StorageFault(.foreign, "\(path): its events are encrypted; name the key in state.encrypt, or move the file away")
            }
            guard cipher.open(check.bytes(0), at: place) != nil else {
                throw StorageFault(
                    .foreign, "\(path): was encrypted under another key than the one of state.encrypt; give that one, or move the file away"
                )
            }
        } else if let cipher {
            let sealed = Array("switchyard".utf8).withUnsafeBytes { cipher.seal($0, at: place) }
            let insert = try statement("INSERT INTO about VALUES ('check', ?)")
            try sealed.withUnsafeBufferPointer { (bytes) throws(StorageFault) in
                try insert.bind(1, lending: UnsafeRawBufferPointer(bytes)).run()
            }
        }
    }
}
