// A folder for the files of one test.

public import Foundation
internal import TestSupport

/// A folder that is removed at the end of its test.
public final class Folder: Sendable {
    public let path: String
    /// Creates the folder. Use `inMemory` for tests that create hundreds of files and lose power only in `FaultyDisk`, if at all.
    public init(inMemory: Bool = false) {
        path = (inMemory ? folderInMemory : FileManager.default.temporaryDirectory.path) + "/switchyard-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    public var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    public func mode(_ name: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path + "/" + name))?[.posixPermissions] as? Int
    }
    /// Returns true if any file of the folder contains the text.
    public func holds(_ text: String) -> Bool {
        files.contains { FileManager.default.contents(atPath: path + "/" + $0)?.range(of: Data(text.utf8)) != nil }
    }
}

extension Folder {
    /// Copies the files as a kill leaves them. Later writes to an open file do not reach the copy.
    public func killed() throws -> Folder {
        let copy = Folder(inMemory: true)
        for name in files where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: path + "/" + name, toPath: copy.path + "/" + name)
        }
        return copy
    }
    public func bytes(_ name: String) -> Data { FileManager.default.contents(atPath: path + "/" + name) ?? Data() }
    public func write(_ data: Data, _ name: String) throws { try data.write(to: URL(fileURLWithPath: path + "/" + name)) }
}
