// Keeps how far the files of one sending were taken, in a file that outlives the process. A reader always finds the complete state after
// some answer. A file that was replaced or written anew is read from its beginning. A damaged checkpoint is refused, since each place has
// a checksum.

internal import CJansson
internal import Glibc
public import Platform

public final class Checkpoint {
    public struct Place: Equatable, Sendable {
        public var mark: FileMark
        /// The offset from which on events are not known to be taken, and the number of lines before it.
        public var offset: Int
        public var line: Int
        public init(mark: FileMark, offset: Int, line: Int) {
            self.mark = mark
            self.offset = offset
            self.line = line
        }
    }

    public struct Fault: Error {
        public var message: String
    }

    private static let version = 2

    public let path: String
    private let target: String
    private var places: [Place] = []

    /// Reads the file if it exists. It must be for the same target, since another router has not taken the same events.
    public init(_ path: String, target: String) throws(Fault) {
        self.path = path
        self.target = target
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if number < 0 {
            if errno == ENOENT { return }
            throw Fault(message: "\(printable(path)): cannot be read: \(SystemFault())")
        }
        let descriptor = Descriptor(owning: number)
        let document = json_loadfd(descriptor.number, Int(JSON_REJECT_DUPLICATES), nil)
        defer { json_decref(document) }
        if let version = Checkpoint.count(document, "version"), version > Checkpoint.version {
            throw Fault(
                message: "\(printable(path)): is of version \(version), this program knows \(Checkpoint.version); run the newer program,"
                    + " or name another file")
        }
        guard let found = Checkpoint.read(document) else {
            let isOne = Checkpoint.text(document, "to") != nil
            throw Fault(
                message: "\(printable(path)): is \(isOne ? "a damaged" : "not a") checkpoint of switchyard send; remove it to begin again,"
                    + " or name another file")
        }
        guard found.target == target else {
            throw Fault(message: "\(printable(path)): is the checkpoint for sending to \(printable(found.target)); name another file")
        }
        places = found.places
    }

    /// Returns how far the open file was taken, or nil if the file is new.
    public func place(of descriptor: Int32) -> Place? { places.first { $0.mark.fits(descriptor) } }

    /// Writes how far a file was taken.
    public func move(to place: Place) throws(Fault) {
        assert(place.mark.isSound && place.offset >= 0 && place.line >= 0, "a place cannot be read back")
        places.removeAll { $0.mark.device == place.mark.device && $0.mark.number == place.mark.number }
        places.append(place)
        do throws(SystemFault) {
            try replaceFile(path, with: Array(text.utf8))
        } catch {
            throw Fault(message: "\(printable(path)): the checkpoint cannot be written: \(error)")
        }
    }

    public func remove() { unlink(path) }

    // MARK: - The file

    private var text: String {
        // Unsigned 64-bit numbers are written as text, since the JSON library has only signed ones.
        let files = places.map { place in
            let mark = place.mark
            return "{\"device\":\"\(mark.device)\",\"inode\":\"\(mark.number)\",\"begins\":\(mark.length),\"hash\":\"\(mark.hash)\""
                + ",\"end\":\(mark.end),\"before\":\(mark.tailLength),\"tail\":\"\(mark.tail)\""
                + ",\"offset\":\(place.offset),\"line\":\(place.line),\"check\":\"\(Checkpoint.check(place))\"}"
        }
        return "{\"version\":\(Checkpoint.version),\"to\":\(jsonQuoted(target)),\"files\":[\n\(files.joined(separator: ",\n"))\n]}\n"
    }

    private static func check(_ place: Place) -> UInt64 {
        let mark = place.mark
        let beginning = "\(mark.device) \(mark.number) \(mark.length) \(mark.hash)"
        return fnv1a("\(beginning) \(mark.end) \(mark.tailLength) \(mark.tail) \(place.offset) \(place.line)".utf8)
    }

    private static func read(_ document: UnsafeMutablePointer<json_t>?) -> (target: String, places: [Place])? {
        guard let target = text(document, "to"), let list = json_object_get(document, "files"), list.pointee.type == JSON_ARRAY else {
            return nil
        }
        // Version 1 has neither a version nor checksums. Count all members, so that a damaged name does not turn version 2 into version 1.
        let isOld = json_object_size(document) == 2
        guard isOld || count(document, "version") == version && json_object_size(document) == 3 else { return nil }
        var places: [Place] = []
        for index in 0..<json_array_size(list) {
            let file = json_array_get(list, index)
            guard let place = isOld ? oldPlace(file) : newPlace(file), place.mark.isSound else { return nil }
            guard isOld || text(file, "check") == "\(check(place))" else { return nil }
            places.append(place)
        }
        return (target, places)
    }

    private static func newPlace(_ file: UnsafeMutablePointer<json_t>?) -> Place? {
        guard json_object_size(file) == 10, let device = number(file, "device"), let inode = number(file, "inode"),
            let length = count(file, "begins"), let hash = number(file, "hash"), let end = count(file, "end"),
            let before = count(file, "before"), let tail = number(file, "tail"), let offset = count(file, "offset"),
            let line = count(file, "line")
        else { return nil }
        let mark = FileMark(device: device, number: inode, length: length, hash: hash, end: end, tailLength: before, tail: tail)
        return Place(mark: mark, offset: offset, line: line)
    }

    private static func oldPlace(_ file: UnsafeMutablePointer<json_t>?) -> Place? {
        guard json_object_size(file) == 6, let device = number(file, "device"), let inode = number(file, "inode"),
            let length = count(file, "begins"), let hash = number(file, "hash"), let offset = count(file, "offset"),
            let line = count(file, "line")
        else { return nil }
        let mark = FileMark(device: device, number: inode, length: length, hash: hash, end: offset, tailLength: 0, tail: fnv1a([]))
        return Place(mark: mark, offset: offset, line: line)
    }

    private static func number(_ object: UnsafeMutablePointer<json_t>?, _ name: String) -> UInt64? {
        text(object, name).flatMap { UInt64($0) }
    }

    private static func text(_ object: UnsafeMutablePointer<json_t>?, _ name: String) -> String? {
        json_string_value(json_object_get(object, name)).map { String(cString: $0) }
    }

    private static func count(_ object: UnsafeMutablePointer<json_t>?, _ name: String) -> Int? {
        guard let value = json_object_get(object, name), value.pointee.type == JSON_INTEGER else { return nil }
        let number = Int(json_integer_value(value))
        return number >= 0 ? number : nil
    }
}
