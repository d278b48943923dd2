import ConsentGate
import Foundation
import Platform
import TestSupport
import Testing

@testable import Ledger

/// A temporary folder, which is removed when its test ends.
final class Folder {
    let path: String
    /// Makes a folder. `inMemory` is for tests that make hundreds of files, and whose power fails only in `FaultyDisk`.
    init(inMemory: Bool = false) {
        path = (inMemory ? folderInMemory : FileManager.default.temporaryDirectory.path) + "/switchyard-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    var ledger: String { path + "/ledger.sqlite" }
    var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    /// True if a file of the folder contains the text.
    func holds(_ text: String) -> Bool {
        files.contains { FileManager.default.contents(atPath: path + "/" + $0)?.range(of: Data(text.utf8)) != nil }
    }
}

/// A clock that a test sets.
final class TestClock: Sendable {
    let time: Monitor<Int64>
    init(_ seconds: Int64 = 1000) { time = Monitor(seconds * 1_000_000_000) }
    var seconds: Int64 {
        get { time.withLock { $0 / 1_000_000_000 } }
        set { time.withLock { $0 = newValue * 1_000_000_000 } }
    }
    var clock: Clock { Clock(now: { Instant(nanoseconds: 0) }, wall: { [time] in time.withLock { $0 } }) }
}

func short(_ id: [UInt8]) -> ShortHash {
    let hash = LedgerKeys.Key("short", Array("subject key".utf8)).hmac(id)
    return hash.withUnsafeBytes { ShortHash(UnsafeRawBufferPointer(rebasing: $0[..<16]))! }
}
func short(_ id: String) -> ShortHash { short(Array(id.utf8)) }

let first = LedgerKeys.Key("first", Array("0123456789abcdef".utf8))
let second = LedgerKeys.Key("second", Array("fedcba9876543210".utf8))

func options(_ testClock: TestClock = TestClock(), keys: LedgerKeys = LedgerKeys(current: first), vfs: String? = nil) -> LedgerFile.Options
{
    var options = LedgerFile.Options(keys: keys, short: { short($0) })
    options.levels = ["none", "essential", "analytics", "marketing"]
    options.clock = testClock.clock
    options.vfs = vfs
    return options
}

func ledger(
    _ folder: Folder, _ testClock: TestClock = TestClock(), keys: LedgerKeys = LedgerKeys(current: first), vfs: String? = nil
) throws(StorageFault) -> LedgerFile {
    try LedgerFile(folder.ledger, options: options(testClock, keys: keys, vfs: vfs))!
}

/// Returns the fault of the body, or nil if it succeeded.
func fault(_ body: () throws(StorageFault) -> Void) -> StorageFault? {
    do throws(StorageFault) {
        try body()
        return nil
    } catch {
        return error
    }
}

let analytics = ConsentTerms(level: "analytics", granted: ["measure"], version: "2")
let marketing = ConsentTerms(level: "marketing", granted: ["ads", "measure"], version: "2")

func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }

extension LedgerFile {
    /// Returns the effective terms of every id, by its short hash.
    func all() throws(StorageFault) -> [ShortHash: [ConsentTerms]] {
        var all: [ShortHash: [ConsentTerms]] = [:]
        try readAll { short, terms in
            precondition(all[short] == nil, "an id was reported twice")
            all[short] = terms
        }
        return all
    }
}
