// The providers that may have got events, each with the time of the first run that could send it any. A provider stays on record when the
// configuration does not have it any more, since it may still hold what it got. Each has a row in the table `about`.

internal import Database
internal import Platform
internal import StateFiles

/// A provider that may have got events.
public struct Receiver: Sendable, Equatable {
    public var provider: String
    /// When it was recorded, in nanoseconds since 1970.
    public var since: Int64
}

extension ErasureFile {
    private static let prefix = "provider "

    /// Records those that are not on record yet. When this returns, they are on disk.
    func remember(_ providers: Set<String>, at now: Int64) throws(StorageFault) {
        let missing = providers.subtracting(try receivers().map(\.provider))
        if missing.isEmpty { return }
        try file.transaction { () throws(StorageFault) in
            for provider in missing.sorted() {
                // A row that is damaged counts as missing, and is replaced.
                let insert = try database.statement("INSERT OR REPLACE INTO about (name, value) VALUES (?1, ?2)")
                try insert.bind(1, ErasureFile.prefix + provider).bind(2, now).run()
            }
        }
    }

    /// Removes the record of a provider. Returns false if there is none.
    func forget(_ provider: String) throws(StorageFault) -> Bool {
        guard try receivers().contains(where: { $0.provider == provider }) else { return false }
        try file.transaction { () throws(StorageFault) in
            try database.statement("DELETE FROM about WHERE name = ?1").bind(1, ErasureFile.prefix + provider).run()
        }
        return true
    }

    func receivers() throws(StorageFault) -> [Receiver] {
        let find = try database.statement(
            "SELECT name, value FROM about WHERE name GLOB '\(ErasureFile.prefix)*' AND \(ErasureFile.isFactWhole) ORDER BY name")
        defer { find.reset() }
        var receivers: [Receiver] = []
        while try find.step() {
            receivers.append(Receiver(provider: String(find.text(0).dropFirst(ErasureFile.prefix.count)), since: find.int(1)))
        }
        return receivers
    }
}
