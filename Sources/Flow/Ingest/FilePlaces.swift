// How far each followed file was taken in, in a file of the state folder. It promises that whoever reads it finds the state after some
// answer, whole; that a place is given only to the file that it was written for; and that damage is told and never makes a wrong place.

internal import Glibc
internal import Platform

/// What the system knows a file by.
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

/// How far one file was taken in.
struct FilePlace: Equatable {
    var mark: FileMark
    var offset: Int
    /// Of its lines so far, how many were no events.
    var faults: Int
}

/// Why a source cannot begin: what is known of its files cannot be used, and is not to be overwritten.
public struct FilePlacesFault: Error, Equatable {
    public var message: String
}

struct FilePlaces {
    /// Places of files that were not seen any more are let go when there are more than this.
    static let most = 10_000

    /// nil: nothing outlives the run.
    let path: String?
    private(set) var places: [FileKey: FilePlace] = [:]
    private(set) var isKept = true

    /// What is damaged is told, set aside and costs its places: those files are read from their beginning. One of a newer version, or one
    /// that cannot be read, stays as it is and is thrown.
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
            let count = lost.map { "of \(grouped(places.count + $0)) places \(grouped($0)) are lost" } ?? "places are lost"
            say("\(printable(path)): is damaged: \(count), whose files are read from their beginning; it is kept as \(printable(aside))")
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
            places[key] = newValue
            isKept = false
        }
    }

    /// Lets go of those that are not among these, when there are very many.
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

    /// nil: there is none.
    private static func contents(_ path: String) throws(FilePlacesFault) -> [UInt8]? {
        func fault() -> FilePlacesFault {
            FilePlacesFault(message: "\(printable(path)): how far files were read cannot be read: \(SystemFault())")
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

    /// Gives the damaged file a second name, which stays when a sound one takes the first: a kill in between loses neither.
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
