// A folder for the files of one test.

import Foundation
import Platform

@testable import Database

final class TestFolder {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    init() { try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    var file: String { path + "/x.sqlite" }
    /// The names of the files, without the shared memory of SQLite.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { !$0.hasSuffix("-shm") }.sorted() }
    /// The files with their bytes, without the shared memory of SQLite.
    var contents: [String: Data] { Dictionary(uniqueKeysWithValues: names.map { ($0, bytes($0)) }) }
    func bytes(_ name: String) -> Data { FileManager.default.contents(atPath: path + "/" + name) ?? Data() }
    func mode(_ name: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path + "/" + name)[.posixPermissions] as? Int) ?? -1
    }
    func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: path + "/" + name, withIntermediateDirectories: false)
    }
    func remove(_ name: String) { try? FileManager.default.removeItem(atPath: path + "/" + name) }
    func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: path + "/" + name, toPath: path + "/" + other)
    }
}

/// Returns the fault that the body throws, or nil.
func fault<R>(_ body: () throws(StorageFault) -> R) -> StorageFault? {
    do throws(StorageFault) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}
