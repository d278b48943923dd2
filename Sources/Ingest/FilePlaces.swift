// How far each followed file was taken in, in a file of the state folder. It promises that whoever reads it finds the state after some
// answer, whole, and that a place is given only to the file that it was written for.

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

struct FilePlaces {
    /// Places of files that were not seen any more are let go when there are more than this.
    static let most = 10_000
    private static let title = "switchyard places 1"

    /// nil: nothing outlives the run.
    let path: String?
    private(set) var places: [FileKey: FilePlace] = [:]
    private(set) var isKept = true

    /// The faults are told and cost nothing but the places: files are then read from their beginning.
    init(_ path: String?, say: (String) -> Void) {
        self.path = path
        guard let path else { return }
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else {
            if errno != ENOENT { say("\(printable(path)): cannot be read: \(SystemFault()); files are read from their beginning") }
            return
        }
        let descriptor = Descriptor(owning: number)
        guard read(FilePlaces.contents(descriptor.number)) else {
            places = [:]
            say("\(printable(path)): is damaged; files are read from their beginning")
            return
        }
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
        if let path {
            let lines = places.values.map { place in
                let mark = place.mark
                return "\(mark.device) \(mark.number) \(mark.length) \(mark.hash) \(place.offset) \(place.faults)\n"
            }
            try replaceFile(path, with: Array((FilePlaces.title + "\n" + lines.joined()).utf8))
        }
        isKept = true
    }

    // MARK: - Reading

    private static func contents(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
        }
    }

    private mutating func read(_ text: String) -> Bool {
        let lines = text.split(separator: "\n")
        guard lines.first == FilePlaces.title[...] else { return false }
        for line in lines.dropFirst() {
            let words = line.split(separator: " ")
            guard words.count == 6, let device = UInt64(words[0]), let number = UInt64(words[1]), let length = Int(words[2]),
                let hash = UInt64(words[3]), let offset = Int(words[4]), let faults = Int(words[5]),
                (0...FileMark.most).contains(length), offset >= 0, faults >= 0
            else { return false }
            let mark = FileMark(device: device, number: number, length: length, hash: hash)
            places[FileKey(mark)] = FilePlace(mark: mark, offset: offset, faults: faults)
        }
        return true
    }
}
