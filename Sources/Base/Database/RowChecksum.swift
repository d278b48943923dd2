// A checksum over the values of a row, which is stored in a column of the same row. It shows a reader that the row was damaged or
// moved. The checksum covers the kind of file, the table, the row's number, and each value with its type and length. So a byte that moves
// from one column to the next changes it. It misses damage with a probability of about 2^-64. It does not stop an attacker, who can compute
// it too. Encrypted rows have the tag of AES-GCM against attackers.

internal import CChecksum

public struct RowChecksum: Sendable, Equatable {
    private var state: UInt64

    /// Starts the checksum of a row. `application` is the mark of the kind of file. `table` must not change as long as files with it exist.
    public init(_ application: Int64, table: StaticString, row: Int64) {
        state = cchecksum_hash(table.utf8Start, table.utf8CodeUnitCount, UInt64(bitPattern: application))
        add(row)
    }

    /// Starts the checksum of a row in a table whose key is a text.
    public init(_ application: Int64, table: StaticString, row: String) {
        state = cchecksum_hash(table.utf8Start, table.utf8CodeUnitCount, UInt64(bitPattern: application))
        add(row)
    }

    /// The checksum as it is stored in the column.
    public var value: Int64 { Int64(bitPattern: state) }

    public mutating func add(_ value: Int64) {
        mark(1)
        state = cchecksum_hash_word(UInt64(bitPattern: value), state)
    }

    public mutating func add(_ value: Int) { add(Int64(value)) }

    public mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0), type: 2) }
    }

    public mutating func add(_ bytes: UnsafeRawBufferPointer) { add(bytes, type: 3) }

    /// Adds a column that is NULL, which differs from an empty value.
    public mutating func addNull() { mark(4) }

    /// Adds the values of these columns with their stored types. A number that has become a text is damage.
    public mutating func add(_ columns: ClosedRange<Int32>, of row: Statement) {
        for column in columns {
            switch row.type(column) {
            case .null: addNull()
            case .integer: add(row.int(column))
            case .text: add(row.textBytes(column), type: 2)
            case .blob: add(row.bytes(column), type: 3)
            case .real:
                mark(5)
                state = cchecksum_hash_word(row.realBits(column), state)
            }
        }
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer, type: UInt64) {
        mark(type)
        state = cchecksum_hash_word(UInt64(bytes.count), state)
        // An empty value may have no address: SQLite gives none for an empty blob.
        if let base = bytes.baseAddress, !bytes.isEmpty { state = cchecksum_hash(base, bytes.count, state) }
    }

    private mutating func mark(_ type: UInt64) { state = state &+ type &* 0x9e37_79b9_7f4a_7c15 }
}
