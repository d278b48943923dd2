// A checksum over the values of a row, for a column of the same row, so that a row that was damaged or put elsewhere is found when it is
// read. It covers which kind of file and which table the row belongs to, the row's number, and each value with its type and length, so
// that no byte can move from one column to the next. It finds damage: a flipped bit is missed once in 2^64. It does not stop an attacker,
// who can compute it as well; rows that are sealed have the tag of AES-GCM for that.

internal import CChecksum

public struct RowChecksum: Sendable, Equatable {
    private var state: UInt64

    /// `application`: the mark of the kind of file. `table` must stay the same for as long as files with it exist.
    public init(_ application: Int64, table: StaticString, row: Int64) {
        state = cchecksum_hash(table.utf8Start, table.utf8CodeUnitCount, UInt64(bitPattern: application))
        add(row)
    }

    /// The same of a table whose rows are known by a text.
    public init(_ application: Int64, table: StaticString, row: String) {
        state = cchecksum_hash(table.utf8Start, table.utf8CodeUnitCount, UInt64(bitPattern: application))
        add(row)
    }

    /// What the column holds.
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

    /// A column that holds nothing, which is not the same as an empty one.
    public mutating func addNull() { mark(4) }

    /// Value by value as the statement gives them, in the types that the file has them in: a number that has become a text is damage.
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
        // An empty value may have an address or none: SQLite gives none for an empty blob.
        if let base = bytes.baseAddress, !bytes.isEmpty { state = cchecksum_hash(base, bytes.count, state) }
    }

    private mutating func mark(_ type: UInt64) { state = state &+ type &* 0x9e37_79b9_7f4a_7c15 }
}
