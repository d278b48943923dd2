// Overwrites bytes that secure_delete misses. When rows move to another page, SQLite leaves their bytes in the gap between the directory
// and the rows of the old page. When the rows are deleted later, SQLite does not overwrite these copies.

internal import CSQLite
internal import Glibc
public import Platform

extension Database {
    /// Overwrites the gaps of all pages that hold rows. The caller has just emptied the log. If another process has written since then,
    /// throws a fault, and the caller can try again. It does not disturb processes that read the file meanwhile.
    public func clearGaps() throws(StorageFault) {
        // The transaction keeps other processes from adding pages to the log. So no checkpoint writes a page to the file meanwhile.
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
        // Pages in SQLite's cache still contain the old bytes of the gaps. A later write of such a page would restore them.
        releaseMemory()
    }

    private var isLogEmpty: Bool {
        var status = stat()
        return stat(path + "-wal", &status) != 0 || status.st_size == 0
    }
}

/// The main file of a database, read and written through SQLite's own file methods.
private struct RawFile {
    private let database: Database
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods
    private let page: Page

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
        precondition(pageSize >= 512, "a page is smaller than SQLite's smallest")
        page = Page(pageSize)
    }

    /// Overwrites the gap of the page with zeros. Returns true if the gap contained other bytes.
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

    /// Returns the range between the directory and the first row of the page, according to SQLite's file format. Returns nil if the page
    /// holds no rows or has no gap.
    private func gap(ofPage number: Int) -> Range<Int>? {
        let bytes = page.bytes
        // The first page begins with the header of the file.
        let head = number == 1 ? 100 : 0
        func half(_ at: Int) -> Int { Int(bytes[at]) << 8 | Int(bytes[at + 1]) }
        let directory: Int
        assert(head + 8 <= bytes.count, "the header of a page lies outside the page")
        switch bytes[head] {
        case 2, 5: directory = head + 12
        case 10, 13: directory = head + 8
        default: return nil
        }
        let first = directory + 2 * half(head + 3)
        // In SQLite's format 0 means 65,536.
        let rows = half(head + 5) == 0 ? 65_536 : half(head + 5)
        return first < rows && rows <= bytes.count ? first..<rows : nil
    }

    private func check(_ code: Int32, _ what: String) throws(StorageFault) {
        if code != SQLITE_OK { throw database.fault(what, code) }
    }
}
