// How far the files of one sending are known to be taken, in a file that outlives it. It promises that whoever looks finds the state
// after some answer, whole, and that a file which is another one than before, or was written anew, is read from its beginning.

internal import CJansson
internal import Glibc
public import Platform

public final class Checkpoint {
    public struct Place: Equatable, Sendable {
        public var mark: FileMark
        /// Where the first event that is not known to be taken may begin, and how many lines stand before it.
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

    public let path: String
    private let target: String
    private var places: [Place] = []

    /// Reads the file, if there is one. It must be of the same target: what one router has taken, another has not.
    public init(_ path: String, target: String) throws(Fault) {
        self.path = path
        self.target = target
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if number < 0 {
            if errno == ENOENT { return }
            throw Fault(message: "\(printable(path)): cannot be read: \(SystemFault())")
        }
        let descriptor = Descriptor(owning: number)
        let document = json_loadfd(descriptor.number, 0, nil)
        defer { json_decref(document) }
        guard let found = Checkpoint.read(document) else {
            throw Fault(message: "\(printable(path)): is no checkpoint of switchyard send; remove it to begin anew, or name another file")
        }
        guard found.target == target else {
            throw Fault(message: "\(printable(path)): is the checkpoint of sending to \(printable(found.target)); name another file")
        }
        places = found.places
    }

    /// How far the open file has been taken; nil: it is new.
    public func place(of descriptor: Int32) -> Place? { places.first { $0.mark.fits(descriptor) } }

    /// Writes that a file has been taken so far.
    public func move(to place: Place) throws(Fault) {
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
        // Numbers of 64 bits are written as text: JSON's go to 63.
        let files = places.map { place in
            let mark = place.mark
            return "{\"device\":\"\(mark.device)\",\"inode\":\"\(mark.number)\",\"begins\":\(mark.length),\"hash\":\"\(mark.hash)\""
                + ",\"offset\":\(place.offset),\"line\":\(place.line)}"
        }
        return "{\"to\":\(jsonQuoted(target)),\"files\":[\n\(files.joined(separator: ",\n"))\n]}\n"
    }

    private static func read(_ document: UnsafeMutablePointer<json_t>?) -> (target: String, places: [Place])? {
        guard let target = text(document, "to"), let list = json_object_get(document, "files"), list.pointee.type == JSON_ARRAY else {
            return nil
        }
        var places: [Place] = []
        for index in 0..<json_array_size(list) {
            let file = json_array_get(list, index)
            guard let device = text(file, "device").flatMap({ UInt64($0) }), let number = text(file, "inode").flatMap({ UInt64($0) }),
                let hash = text(file, "hash").flatMap({ UInt64($0) }), let length = count(file, "begins"), length <= FileMark.most,
                let offset = count(file, "offset"), let line = count(file, "line")
            else { return nil }
            places.append(Place(mark: FileMark(device: device, number: number, length: length, hash: hash), offset: offset, line: line))
        }
        return (target, places)
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
