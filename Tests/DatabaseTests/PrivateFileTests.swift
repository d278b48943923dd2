// Tests that a database file is private.

import Glibc
import Platform
import TestSupport
import Testing

@testable import Database

@Suite("A private file")
struct PrivateFileTests {
    @Test("belongs to its owner alone, also an existing one that others could read")
    func isPrivate() throws {
        let folder = TestFolder()
        try makePrivate(folder.file)
        #expect(folder.mode("x.sqlite") == 0o600)
        chmod(folder.file, 0o664)
        try makePrivate(folder.file)
        #expect(folder.mode("x.sqlite") == 0o600)
        try Database(folder.file).run("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        for name in folder.names { #expect(folder.mode(name) == 0o600, "\(name)") }
        symlink(folder.file, folder.path + "/link")
        #expect(fault { () throws(StorageFault) in try makePrivate(folder.path + "/link") }?.kind == .failed)
    }

    @Test("is not used if its file belongs to another user", .enabled(if: geteuid() == 0))
    func others() throws {
        let folder = TestFolder()
        try makePrivate(folder.file)
        chown(folder.file, 12345, 12345)
        chmod(folder.file, 0o666)
        let fault = fault { () throws(StorageFault) in try makePrivate(folder.file) }
        #expect(fault?.description == "\(folder.file): belongs to another user; give the router a state folder of its own (--state)")
        #expect(folder.mode("x.sqlite") == 0o666, "it is left as it is")
    }
}
