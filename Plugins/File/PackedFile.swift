// The content of a file as bytes that may be compressed. The first bytes of a file decide how it is compressed, not its name. Reading and
// writing take a bounded amount of memory, whatever the size of the file.

internal import Glibc
internal import PluginKit

extension FileRules.Compression {
    /// The form of a file that begins with these bytes. A line of JSON never begins like a compressed file.
    init(beginning bytes: [UInt8]) {
        self = bytes.starts(with: [0x1f, 0x8b]) ? .gzip : bytes.starts(with: [0x28, 0xb5, 0x2f, 0xfd]) ? .zstd : .none
    }
}

/// Reads parts of a file and passes on their plain bytes.
final class PackedReader {
    private static let chunk = 131_072

    let form: FileRules.Compression
    private let descriptor: Int32
    private let path: String
    private let decoder: (any Decoder)?
    private var packed = [UInt8](repeating: 0, count: PackedReader.chunk)
    private var plain = [UInt8](repeating: 0, count: PackedReader.chunk)
    /// The place in the file of the next byte.
    private(set) var offset = 0
    /// The last bytes that were read, and the place behind them.
    private var last: (bytes: ArraySlice<UInt8>, end: Int) = ([], 0)
    private static let mostLast = 4096

    init(_ descriptor: Int32, path: String) throws(FileFault) {
        self.descriptor = descriptor
        self.path = path
        var beginning = [UInt8](repeating: 0, count: 4)
        let count = again { Int32(pread(descriptor, &beginning, 4, 0)) }
        guard count >= 0 else { throw FileFault("cannot read", path: path, code: -count) }
        form = FileRules.Compression(beginning: Array(beginning.prefix(Int(count))))
        decoder = form.decoder
    }

    /// Goes back to a place of a plain file.
    func rewind(to place: Int) {
        assert(decoder == nil && place <= offset, "a compressed file is read from its beginning only")
        offset = place
    }

    /// Passes on the plain bytes of the file up to a place in it. Returns false if `take` did, or if the file ends before.
    func read(to end: Int, _ take: (UnsafeRawBufferPointer) throws(FileFault) -> Bool) throws(FileFault) -> Bool {
        while offset < end {
            let wanted = min(packed.count, end - offset)
            let count = again { Int32(pread(descriptor, &packed, wanted, offset)) }
            guard count >= 0 else { throw FileFault("cannot read", path: path, code: -count) }
            if count == 0 { return false }
            let before = last.end == offset ? last.bytes : []
            offset += Int(count)
            last = ((before + packed[..<Int(count)]).suffix(PackedReader.mostLast), offset)
            guard try pass(packed[..<Int(count)], take) else { return false }
        }
        return true
    }

    /// False if the last bytes that were read are not in the file any more, because a program has truncated it and written it anew.
    func isStillThere() throws(FileFault) -> Bool {
        var bytes = [UInt8](repeating: 0, count: last.bytes.count)
        let count = again { Int32(pread(descriptor, &bytes, bytes.count, last.end - bytes.count)) }
        guard count >= 0 else { throw FileFault("cannot read", path: path, code: -count) }
        return bytes.prefix(Int(count)) == last.bytes
    }

    /// True if the compressed data was complete. It is always true for a plain file.
    var isComplete: Bool { decoder?.isAtEnd ?? true }

    private func pass(_ bytes: ArraySlice<UInt8>, _ take: (UnsafeRawBufferPointer) throws(FileFault) -> Bool) throws(FileFault) -> Bool {
        guard let decoder else { return try PackedReader.give(bytes, take) }
        var rest = bytes
        var isFull = false
        // A full output may leave more plain bytes inside the decoder.
        while !rest.isEmpty || isFull {
            let made = rest.withUnsafeBytes { from in plain.withUnsafeMutableBytes { decoder.decode(from, into: $0) } }
            guard let made else { throw FileFault(damaged: path) }
            assert(made.taken <= rest.count && made.written <= plain.count, "the decoder read or wrote more than it was given")
            rest = rest.dropFirst(made.taken)
            isFull = made.written == plain.count
            guard try PackedReader.give(plain[..<made.written], take) else { return false }
            if made.taken == 0, made.written == 0, !rest.isEmpty { throw FileFault(damaged: path) }
        }
        return true
    }

    private static func give(
        _ bytes: ArraySlice<UInt8>, _ take: (UnsafeRawBufferPointer) throws(FileFault) -> Bool
    ) throws(FileFault) -> Bool {
        guard !bytes.isEmpty else { return true }
        return try bytes.withUnsafeBufferPointer { (bytes) throws(FileFault) in try take(UnsafeRawBufferPointer(bytes)) }
    }
}

/// Writes plain bytes to a new file, compressed like another one.
final class PackedWriter {
    private static let chunk = 131_072

    private let encoder: (any Encoder)?
    private let descriptor: Int32
    private let path: String
    private let system: FileSystem
    /// Plain bytes that are not encoded yet.
    private var waiting: [UInt8] = []
    private var packed = [UInt8](repeating: 0, count: PackedWriter.chunk)

    init(_ form: FileRules.Compression, _ descriptor: Int32, path: String, system: FileSystem) {
        encoder = form.encoder
        self.descriptor = descriptor
        self.path = path
        self.system = system
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FileFault) {
        waiting += bytes
        if waiting.count >= PackedWriter.chunk { try encode(last: false) }
    }

    /// Forces what was written so far to the disk, so that less is left to do later.
    func synchronize() throws(FileFault) {
        try encode(last: false)
        let result = system.synchronize(descriptor)
        guard result >= 0 else { throw FileFault("cannot sync", path: path, code: -result) }
    }

    /// Writes everything, with the end of the compressed data.
    func finish() throws(FileFault) { try encode(last: true) }

    private func encode(last: Bool) throws(FileFault) {
        defer { waiting.removeAll(keepingCapacity: true) }
        guard let encoder else { return try put(waiting[...]) }
        var rest = waiting[...]
        var done = rest.isEmpty && !last
        while !done {
            let made = rest.withUnsafeBytes { from in packed.withUnsafeMutableBytes { encoder.encode(from, into: $0, last: last) } }
            guard let made else { throw FileFault("cannot compress", path: path, code: EIO) }
            rest = rest.dropFirst(made.taken)
            done = made.done
            try put(packed[..<made.written])
        }
        assert(rest.isEmpty, "a part of the file was not compressed")
    }

    private func put(_ bytes: ArraySlice<UInt8>) throws(FileFault) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { system.write(descriptor, $0) }
            if count == -Int(EINTR) { continue }
            guard count > 0 else { throw FileFault("cannot write to", path: path, code: count < 0 ? Int32(-count) : EIO) }
            rest = rest.dropFirst(count)
        }
    }
}
