// The files with the rows of verdicts. An entry of the trail names the place of its rows and the root of their tree, so a change of them is
// found, and one row can be proved without the others.

internal import Glibc
public import MerkleLog
public import Platform

public enum VerdictFiles {
    /// The most bytes of a file. Then a new one begins, so that old ones can be deleted.
    static let largest = 64 << 20

    /// Returns the rows of an entry. Returns nil if they are missing or cut off.
    public static func rows(_ place: VerdictPlace, _ path: String) throws(StorageFault) -> [UInt8]? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw StorageFault(.failed, "\(path): cannot be read: \(SystemFault())")
        }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        guard fstat(number, &status) == 0, Int(status.st_size) >= place.offset, Int(status.st_size) - place.offset >= place.bytes else {
            return nil
        }
        let rows = try TrailFiles.read(descriptor.number, offset: place.offset, count: place.bytes, path)
        return rows.count == place.bytes ? rows : nil
    }

    /// Returns the root of the tree of the rows.
    public static func root(_ rows: [UInt8], width: Int) -> Digest { rows.withUnsafeBytes { RowTree.root($0, width: width) } }
}

/// Appends rows to the files. A process that begins to write begins a new file.
struct VerdictWriter {
    private let files: TrailFiles
    private let syncs: Bool
    private var name: String?
    private var size = 0

    init(_ files: TrailFiles, syncs: Bool) {
        self.files = files
        self.syncs = syncs
    }

    /// Writes the rows. Returns their place. `entry` is the number that the entry about them will probably have.
    mutating func write(_ rows: [UInt8], width: Int, entry: Int) throws(StorageFault) -> VerdictPlace {
        if size >= VerdictFiles.largest { name = nil }
        if name == nil {
            try TrailFiles.makeFolder(files.folder + "/verdicts")
            name = VerdictWriter.freeName(entry, files)
            size = 0
        }
        let place = VerdictPlace(
            file: name!, offset: size, count: rows.count / width, width: width,
            root: StrictBase64.encode(VerdictFiles.root(rows, width: width).bytes))
        try TrailFiles.write(files.verdicts(place.file), at: size, rows, syncs: syncs)
        size += rows.count
        return place
    }

    /// Returns a name of digits that no file has.
    private static func freeName(_ entry: Int, _ files: TrailFiles) -> String {
        var number = entry
        while true {
            let digits = String(number)
            let name = String(repeating: "0", count: max(0, 12 - digits.utf8.count)) + digits
            if access(files.verdicts(name), F_OK) != 0 { return name }
            number += 1
        }
    }
}
