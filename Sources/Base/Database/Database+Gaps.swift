// What secure_delete does not reach: when rows move from one page to another, SQLite leaves their bytes in the gap between the rows of the
// old page and its directory, and knows nothing of them once the rows themselves are deleted. Here such gaps are overwritten in the file.

internal import CSQLite
internal import Glibc
public import Platform

extension Database {
    /// Overwrites the gaps of all pages that hold rows. For a file whose log was emptied just now; where another process has written since,
    /// it is a fault and can be tried again. Whoever reads it meanwhile is not disturbed.
    public func clearGaps() throws(StorageFault) {
        // Nobody puts a page into the log until it is done, and so nobody brings one from there into the file.
        try transaction { () throws(StorageFault) in
            guard isLogEmpty else { throw StorageFault(.taken, "\(path): somebody is writing to it, so its gaps cannot be cleared") }
            guard let size = try number("PRAGMA page_size") else { return }
            let file = try RawFile(self, pageSize: Int(size))
            let pages = try statement("SELECT pageno FROM dbstat WHERE pagetype <> 'overflow'")
            defer { pages.reset() }
            var isChanged = false
            while try pages.step() {
                if try file.clearGap(ofPage: Int(pages.int(0))) { isChanged = true }
            }
            if isChanged { try file.sync() }
        }
        // Pages in memory still have what was in the gaps, and would bring it back.
        releaseMemory()
    }

    private var isLogEmpty: Bool {
        var status = stat()
        return stat(path + "-wal", &status) != 0 || status.st_size == 0
    }
}

/// The file under the database, as SQLite itself reads and writes it.
private struct RawFile {
    private let database: Database
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods
    private let page: Page

    /// The bytes of one page.
    private final class Page {
        let bytes: UnsafeMutableRawBufferPointer
        init(_ size: Int) { bytes = .allocate(byteCount: size, alignment: 8) }
        deinit { bytes.deallocate() }
    }

    init(_ database: Database, pageSize: Int) throws(StorageFault) {
        guard let file = database.file, let methods = file.pointee.pMethods else {
            throw StorageFault(.failed, "\(database.path): its file cannot be reached")
        }
        self.database = database
        self.file = file
        self.methods = methods.pointee
        page = Page(pageSize)
    }

    /// Whether there was something in it.
    func clearGap(ofPage number: Int) throws(StorageFault) -> Bool {
        let bytes = page.bytes
        let at = sqlite3_int64((number - 1) * bytes.count)
        try check(methods.xRead(file, bytes.baseAddress, Int32(bytes.count), at), "cannot be read")
        guard let gap = gap(ofPage: number), bytes[gap].contains(where: { $0 != 0 }) else { return false }
        bytes[gap].copyBytes(from: repeatElement(0, count: gap.count))
        try check(
            methods.xWrite(file, bytes.baseAddress! + gap.lowerBound, Int32(gap.count), at + sqlite3_int64(gap.lowerBound)),
            "cannot be written")
        return true
    }

    func sync() throws(StorageFault) { try check(methods.xSync(file, SQLITE_SYNC_NORMAL), "cannot be synced") }

    /// Behind the directory of a page and before its first row, by the format of SQLite's files; nil: it is no page of rows.
    private func gap(ofPage number: Int) -> Range<Int>? {
        let bytes = page.bytes
        // The first page begins with the head of the file.
        let head = number == 1 ? 100 : 0
        func half(_ at: Int) -> Int { Int(bytes[at]) << 8 | Int(bytes[at + 1]) }
        let directory: Int
        switch bytes[head] {
        case 2, 5: directory = head + 12
        case 10, 13: directory = head + 8
        default: return nil
        }
        let first = directory + 2 * half(head + 3)
        // 0 stands for 65,536.
        let rows = half(head + 5) == 0 ? 65_536 : half(head + 5)
        return first < rows && rows <= bytes.count ? first..<rows : nil
    }

    private func check(_ code: Int32, _ what: String) throws(StorageFault) {
        if code != SQLITE_OK { throw database.fault(what, code) }
    }
}
