// The places up to which followed files were taken, in a file of the state folder. A reader always finds the complete state after one of
// the answers. A place is used only for the file for which it was written. Damage is reported and never leads to a wrong place.

internal import Glibc
internal import Platform

/// The identity of a file in the system: its device and inode number.
struct FileKey: Hashable {
    var device: UInt64
    var number: UInt64
    init(_ status: stat) {
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }
    init(_ mark: FileMark) {
        device = mark.device
        number = mark.number
    }
}

/// The place up to which one file was taken.
struct FilePlace: Equatable {
    var mark: FileMark
    var offset: Int
    /// The number of its lines so far that were not events.
    var faults: Int
}

/// The reason why a source cannot begin: the places of its files cannot be used and must not be overwritten.
public struct FilePlacesFault: Error, Equatable {
    public var message: String
}

struct FilePlaces {
    /// The number of places above which the places of files that no longer exist are removed.
    static let most = 10_000

    /// The path of the file. If it is nil, the places are lost at the end of the run.
    let path: String?
    private(set) var places: [FileKey: FilePlace] = [:]
    private(set) var isKept = true

    /// Reads the places. A damaged file is reported and set aside, and the files whose places are lost are read from their beginning. A
    /// file of a newer version, or one that cannot be read, stays as it is, and this throws.
    init(_ path: String?, wall: () -> Int64, say: (String) -> Void) throws(FilePlacesFault) {
        self.path = path
        guard let path, let bytes = try FilePlaces.contents(path) else { return }
        let found: [FilePlace]
        switch PlacesFormat.read(bytes) {
        case .whole(let places): found = places
        case .old(let places):
            found = places
            isKept = false
            say("\(printable(path)): is of version 1, without checksums; its places are taken as they are")
        case .damaged(let places, let lost):
            let aside = try FilePlaces.setAside(path, at: wall())
            found = places
            isKept = false
            let count = lost.map { "\(grouped($0)) of \(grouped(places.count + $0)) places lost" } ?? "places lost"
            say(
                "\(printable(path)): is damaged: \(count), and files without a place are read from their beginning;"
                    + " it is kept as \(printable(aside))")
        case .newer(let version):
            throw FilePlacesFault(
                message: "\(printable(path)): is of version \(version), this program knows \(PlacesFormat.version); run the newer program,"
                    + " or move the file away, and files are read from their beginning")
        }
        for place in found { places[FileKey(place.mark)] = place }
    }

    subscript(_ key: FileKey) -> FilePlace? {
        get { places[key] }
        set {
            guard places[key] != newValue else { return }
            assert(newValue.map { FileKey($0.mark) == key } ?? true, "a place is stored for another file")
            assert(newValue.map { $0.mark.isSound && $0.offset >= $0.mark.end && $0.faults >= 0 } ?? true, "a place cannot be read back")
            places[key] = newValue
            isKept = false
        }
    }

    /// Removes the places of files that are not in `seen`, if there are very many.
    mutating func prune(keeping seen: Set<FileKey>) {
        guard places.count > FilePlaces.most else { return }
        for key in places.keys where !seen.contains(key) { self[key] = nil }
    }

    mutating func keep() throws(SystemFault) {
        guard !isKept else { return }
        if let path { try replaceFile(path, with: PlacesFormat.text(places.values)) }
        isKept = true
    }

    // MARK: - The file

    /// Returns the contents of the file, or nil if there is none.
    private static func contents(_ path: String) throws(FilePlacesFault) -> [UInt8]? {
        func fault() -> FilePlacesFault {
            FilePlacesFault(message: "\(printable(path)): the places of followed files cannot be read: \(SystemFault())")
        }
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw fault()
        }
        let descriptor = Descriptor(owning: number)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor.number, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += chunk[..<count]
            } else if errno != EINTR {
                throw fault()
            }
        }
    }

    /// Gives the damaged file a second name. It stays when a valid file takes the first name, so a kill in between loses neither file.
    private static func setAside(_ path: String, at time: Int64) throws(FilePlacesFault) -> String {
        let base = "\(path).damaged-\(time / 1_000_000_000)"
        var aside = base
        var number = 1
        while true {
            if link(path, aside) == 0 { return aside }
            guard errno == EEXIST else {
                throw FilePlacesFault(message: "\(printable(path)): is damaged and cannot be set aside: \(SystemFault())")
            }
            number += 1
            aside = "\(base)-\(number)"
        }
    }
}
