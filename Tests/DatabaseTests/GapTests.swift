import Database
import Foundation
import Platform
import Testing

/// A folder that is removed at the end of its test.
private final class Folder {
    let path = FileManager.default.temporaryDirectory.path + "/switchyard-\(UUID().uuidString)"
    init() { try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
}

@Suite("A file whose gaps are overwritten")
struct GapTests {
    private let folder = Folder()
    private var path: String { folder.path + "/rows.sqlite" }

    private func holds(_ text: String) -> Bool {
        FileManager.default.contents(atPath: path)?.range(of: Data(text.utf8)) != nil
    }

    private func empty(_ database: Database) throws {
        #expect(try database.number("PRAGMA wal_checkpoint(TRUNCATE)") == 0)
    }

    /// Creates a file whose rows were moved between pages. Then two thirds of them were deleted.
    private func moved(_ seed: UInt64) throws -> Database {
        let database = try Database(path)
        try database.run(
            """
            PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON;
            CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL)
            """)
        var chance = seed &* 2 &+ 1
        func roll(_ most: UInt64) -> Int {
            chance = chance &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((chance >> 33) % most)
        }
        func body(_ id: Int) -> String { "\(id % 3 == 0 ? "kept" : "planted")-\(id)." + String(repeating: "x", count: roll(700)) }
        for id in 0..<300 { try database.statement("INSERT INTO rows VALUES (?1, ?2)").bind(1, id).bind(2, body(id)).run() }
        for _ in 0..<300 {
            let id = roll(300)
            try database.statement("UPDATE rows SET body = ?2 WHERE id = ?1").bind(1, id).bind(2, body(id)).run()
        }
        try database.run("DELETE FROM rows WHERE id % 3 > 0")
        try empty(database)
        return database
    }

    @Test("holds nothing of deleted rows in the gaps of its pages, where SQLite alone leaves some bytes, and loses no row")
    func gaps() throws {
        var left = 0
        for seed in 0..<8 as Range<UInt64> {
            let database = try moved(seed)
            if holds("planted-") { left += 1 }
            try database.clearGaps()
            #expect(!holds("planted-") && holds("kept-"), "seed \(seed)")
            // Pages in memory do not bring the bytes back either.
            try database.run("UPDATE rows SET body = body || 'more'")
            try empty(database)
            #expect(!holds("planted-"), "seed \(seed)")
            #expect(try database.number("SELECT count(*) FROM rows WHERE body LIKE 'kept-' || id || '.%more'") == 100)
            let whole = try database.statement("PRAGMA integrity_check")
            #expect(try whole.step() && whole.text(0) == "ok")
            whole.reset()
            database.close()
            for end in ["", "-wal", "-shm"] { unlink(path + end) }
        }
        #expect(left > 0, "SQLite leaves nothing any more, so this test proves nothing")
    }

    @Test("is left as it is while its log holds what another connection has written")
    func written() throws {
        let database = try moved(1)
        let other = try Database(path)
        try other.run("UPDATE rows SET body = body || 'more'")
        #expect(throws: StorageFault.self) { try database.clearGaps() }
        try empty(other)
        try database.clearGaps()
        #expect(!holds("planted-"))
        #expect(try database.number("SELECT count(*) FROM rows WHERE body LIKE '%more'") == 100)
    }
}
