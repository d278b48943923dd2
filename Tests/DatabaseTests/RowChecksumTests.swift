import CChecksum
import Foundation
import Testing

@testable import Database

@Suite("The checksum of a row")
struct RowChecksumTests {
    private func hash(_ text: String, _ seed: UInt64 = 0) -> UInt64 {
        Array(text.utf8).withUnsafeBytes { cchecksum_hash($0.baseAddress, $0.count, seed) }
    }

    @Test("is XXH64, with the values of its specification and its reference implementation")
    func reference() {
        #expect(hash("") == 0xef46_db37_51d8_e999)
        #expect(hash("a") == 0xd24e_c4f1_a98c_6e5b)
        #expect(hash("abc") == 0x44bc_2cf5_ad77_0999)
        #expect(hash("Nobody inspects the spammish repetition") == 0xfbce_a83c_8a37_8bf1)
        #expect(hash("xxhash", 20_141_025) == 0xb559_b98d_844e_0635)
        for word in [0, 1, 0x0123_4567_89ab_cdef, UInt64.max] as [UInt64] {
            let bytes = withUnsafeBytes(of: word.littleEndian) { Array($0) }
            #expect(bytes.withUnsafeBytes { cchecksum_hash($0.baseAddress, 8, 7) } == cchecksum_hash_word(word, 7))
        }
    }

    private func sum(_ application: Int64 = 1, _ table: StaticString = "batches", row: Int64 = 1, _ body: (inout RowChecksum) -> Void)
        -> Int64
    {
        var sum = RowChecksum(application, table: table, row: row)
        body(&sum)
        return sum.value
    }

    @Test("differs for another kind of file, another table, another row, and for bytes that moved between columns or changed their type")
    func distinct() {
        let bytes: (String) -> [UInt8] = { Array($0.utf8) }
        var all: [Int64] = []
        all.append(sum { $0.add(7) })
        all.append(sum(2) { $0.add(7) })
        all.append(sum(1, "waiting") { $0.add(7) })
        all.append(sum(row: 2) { $0.add(7) })
        all.append(
            sum {
                $0.add("ab")
                $0.add("c")
            })
        all.append(
            sum {
                $0.add("a")
                $0.add("bc")
            })
        all.append(
            sum {
                $0.add("")
                $0.add("abc")
            })
        all.append(
            sum {
                $0.add("abc")
                $0.add("")
            })
        all.append(sum { $0.add("abc") })
        all.append(sum { sum in bytes("abc").withUnsafeBytes { sum.add($0) } })
        all.append(sum { $0.addNull() })
        all.append(sum { $0.add("") })
        all.append(sum { $0.add(0) })
        all.append(sum { _ in })
        #expect(Set(all).count == all.count)
    }

    @Test("differs for every single bit that is flipped, at every length up to 100")
    func bits() {
        for length in 0...100 {
            var bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            let whole = sum { sum in bytes.withUnsafeBytes { sum.add($0) } }
            for bit in 0..<(8 * length) {
                bytes[bit / 8] ^= 1 << (bit % 8)
                #expect(sum { sum in bytes.withUnsafeBytes { sum.add($0) } } != whole)
                bytes[bit / 8] ^= 1 << (bit % 8)
            }
        }
    }

    @Test("is the same for values and for the columns of a row that holds them")
    func columns() throws {
        let database = try Database(":memory:")
        try database.run("CREATE TABLE x (a INTEGER, b TEXT, c BLOB, d); INSERT INTO x VALUES (-5, 'text', x'00ff', NULL)")
        let row = try database.statement("SELECT a, b, c, d FROM x")
        #expect(try row.step())
        let read = sum { $0.add(0...3, of: row) }
        row.reset()
        let fed = sum { sum in
            sum.add(-5)
            sum.add("text")
            ([0, 0xff] as [UInt8]).withUnsafeBytes { sum.add($0) }
            sum.addNull()
        }
        #expect(read == fed)
        try database.run("UPDATE x SET a = '-5x'")
        #expect(try row.step())
        #expect(sum { $0.add(0...3, of: row) } != fed)
    }

    @Test("is the same for an empty value with an address and without one, as SQLite gives it")
    func empty() throws {
        let database = try Database(":memory:")
        try database.run("CREATE TABLE x (a TEXT, b BLOB); INSERT INTO x VALUES ('', x'')")
        let row = try database.statement("SELECT a, b FROM x")
        #expect(try row.step())
        let fed = sum { sum in
            sum.add("")
            [UInt8]().withUnsafeBytes { sum.add($0) }
        }
        #expect(sum { $0.add(0...1, of: row) } == fed)
    }
}
