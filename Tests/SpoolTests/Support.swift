import Events
import Foundation
import Plans
import Platform
import TestSupport
import Testing

@testable import Admission
@testable import Spool

/// A folder that is removed at the end of its test.
final class Folder: Sendable {
    let path: String
    /// Creates the folder. Use `inMemory` for tests that create hundreds of files and lose power only in `FaultyDisk`, if at all.
    init(inMemory: Bool = false) {
        path = (inMemory ? folderInMemory : FileManager.default.temporaryDirectory.path) + "/switchyard-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    func mode(_ name: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path + "/" + name))?[.posixPermissions] as? Int
    }
    /// Returns true if any file of the folder contains the text.
    func holds(_ text: String) -> Bool {
        files.contains { FileManager.default.contents(atPath: path + "/" + $0)?.range(of: Data(text.utf8)) != nil }
    }
}

/// Returns a batch of these events, as the gate lets them pass.
func batch(_ events: [String], route: UInt16 = 0, subjects: Int = 1, level: UInt8 = EntryLevel.none) -> Batch {
    var parcel = Parcel()
    for event in events {
        parcel.bytes.append(event + "\n")
        let first = parcel.subjects.count
        for number in 0..<subjects {
            parcel.subjectColumn.append(SubjectKey(high: UInt64(event.utf8.count), low: UInt64(number)))
        }
        parcel.entryColumn.append(
            Entry(
                end: UInt32(parcel.bytes.count), route: route, isImmediate: event.hasPrefix("!"), level: level,
                subjectCount: UInt8(subjects),
                firstSubject: UInt32(first), messageIDOffset: 1, messageIDCount: UInt32(min(2, event.utf8.count - 1)),
                arrival: Int64(event.utf8.count)))
    }
    return Batch(parcel)
}

func texts(_ batch: Batch) -> [String] { (0..<batch.count).map { String(decoding: batch.event($0), as: UTF8.self) } }

extension SpoolWork {
    static func insert(_ rows: (Int64, [String])...) -> SpoolWork {
        var work = SpoolWork()
        work.insert = rows.map { ($0.0, batch($0.1)) }
        return work
    }
    static func remove(_ rows: Int64...) -> SpoolWork {
        var work = SpoolWork()
        work.remove = rows
        return work
    }
}

extension SpoolFile {
    /// Returns everything that can be read, as `id: events`.
    func all() throws(SpoolFault) -> [String] {
        var rows: [String] = []
        var at: Int64 = 0
        while true {
            let more = try read(after: at, most: 100)
            guard let last = more.last else { return rows }
            rows += more.map { "\($0.id): " + texts($0.batch).joined(separator: " ") }
            at = last.id
        }
    }
}

func secret(_ text: String) -> Secret { Secret(Array(text.utf8)) }

let hour = Clock(now: { Instant(nanoseconds: 0) }, wall: { 3_600_000_000_000 })

func spool(
    _ folder: Folder, vfs: String? = nil, synced: Bool = false, key: String? = nil, names: RunNames = RunNames(["a", "b"]),
    levels: RunNames = RunNames(),
    said: Monitor<[String]> = Monitor([])
)
    throws(SpoolFault) -> SpoolFile
{
    var options = SpoolFile.Options()
    options.vfs = vfs
    options.isSynced = synced
    options.levels = levels
    options.clock = hour
    options.cipher = key.map { Cipher(secret($0)) }
    return try SpoolFile(path: folder.path + "/spool-x.sqlite", names: names, options: options) { line in said.withLock { $0.append(line) }
    }
}
