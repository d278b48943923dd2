// Reads and verifies rows of a spool file: the checksum is right, an encrypted row can be decrypted, and its parts fit together.

@_spi(Spool) internal import Admission
internal import Database
internal import Platform
internal import StateFiles

/// Reads rows of the table `batches`.
struct RowReader {
    /// The columns of a statement whose rows are read here, in this order.
    static let columns = "batches.id, events, bytes, arrival, batches.routes, sealed, entries, payload"

    var routes: FileNumbers
    var levels: FileNumbers
    var cipher: Cipher?

    private static let application = SpoolSchema.format.application

    /// Returns the checksum over the columns as the file has them.
    static func checksum(of row: Statement) -> Int64 {
        var sum = RowChecksum(application, table: "batches", row: row.int(0))
        sum.add(1...7, of: row)
        return sum.value
    }

    static func checksum(
        _ id: Int64, events: Int, bytes: Int, arrival: Int64, routes: String, sealed: Int, entries: UnsafeRawBufferPointer,
        payload: UnsafeRawBufferPointer
    ) -> Int64 {
        var sum = RowChecksum(application, table: "batches", row: id)
        sum.add(events)
        sum.add(bytes)
        sum.add(arrival)
        sum.add(routes)
        sum.add(sealed)
        sum.add(entries)
        sum.add(payload)
        return sum.value
    }

    static func checksum(ofTry id: Int64, _ attempts: Int64, _ first: Int64) -> Int64 {
        var sum = RowChecksum(application, table: "tries", row: id)
        sum.add(attempts)
        sum.add(first)
        return sum.value
    }

    /// Returns the events of a row. Returns nil if the row is damaged. `checksum` is the column of the checksum. It is nil for a row of an
    /// older format, which has none.
    func batch(_ row: Statement, checksum: Int32?) -> Batch? {
        guard isWhole(row, checksum) else { return nil }
        guard row.int(5) == 1 else {
            return Batch(restoring: row.bytes(7), index: row.bytes(6), count: count(row), route: route, level: runLevel)
        }
        guard let cipher, let entries = cipher.open(row.bytes(6), at: "entries \(row.int(0))"),
            let payload = cipher.open(row.bytes(7), at: "payload \(row.int(0))")
        else { return nil }
        return entries.withUnsafeBytes { entries in
            payload.withUnsafeBytes { Batch(restoring: $0, index: entries, count: count(row), route: route, level: runLevel) }
        }
    }

    /// Returns the entries of a row without its events. Returns nil if the row is damaged.
    func index(_ row: Statement, checksum: Int32?) -> BatchIndex? {
        guard isWhole(row, checksum) else { return nil }
        guard row.int(5) == 1 else { return BatchIndex(row.bytes(6), count: count(row), route: route, level: runLevel) }
        return cipher?.open(row.bytes(6), at: "entries \(row.int(0))")?.withUnsafeBytes {
            BatchIndex($0, count: count(row), route: route, level: runLevel)
        }
    }

    private func isWhole(_ row: Statement, _ checksum: Int32?) -> Bool {
        guard let checksum else { return true }
        return !row.isNull(checksum) && row.int(checksum) == RowReader.checksum(of: row)
    }

    private func count(_ row: Statement) -> Int { Int(row.int(1)) }
    private func route(_ file: UInt16) -> UInt16? { routes.run(file) }

    func fileLevel(_ entry: UInt8) -> UInt8 { EntryLevel.number(of: entry).map { EntryLevel.entry(of: levels.file($0)) } ?? entry }
    func runLevel(_ entry: UInt8) -> UInt8 { EntryLevel.number(of: entry).map { EntryLevel.entry(of: levels.run($0)) } ?? entry }
}

extension SpoolFile {
    /// The numbers of events and bytes of one route in a row.
    struct Part: Equatable {
        var route: UInt16
        var events: Int
        var bytes: Int
    }

    static func text(_ parts: [Part]) -> String { parts.map { "\($0.route):\($0.events):\($0.bytes)" }.joined(separator: " ") }

    /// Parses a text that may be damaged. Skips everything that is not a part, and parts that are impossibly large.
    static func parts(_ text: String) -> [Part] {
        text.split(separator: " ").compactMap { part in
            let numbers = part.split(separator: ":").compactMap { Int($0) }
            guard numbers.count == 3, let route = UInt16(exactly: numbers[0]), (0..<1 << 40).contains(numbers[1]),
                (0..<1 << 40).contains(numbers[2])
            else { return nil }
            return Part(route: route, events: numbers[1], bytes: numbers[2])
        }
    }
}
