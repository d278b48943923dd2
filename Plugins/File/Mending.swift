// Repairs the end of a file whose last line has no newline, because a kill, a crash or a full disk cut a write short. A complete event gets
// its newline. The beginning of an event is cut off, and the log reports it. Anything else was not written by the router: it stays, and
// gets a newline.

internal import Glibc
internal import PluginKit

extension RegularFile {
    private static let chunk = 65_536

    /// Makes the file end in a newline and returns its new size. The caller holds the lock.
    func mend(size: Int, _ log: (String) -> Void) throws(FileFault) -> Int {
        let reader = again { open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
        guard reader >= 0 else {
            log("the end of '\(path)' cannot be checked for a torn line: \(systemWords(-reader))")
            return size
        }
        defer { close(reader) }
        guard FileStatus(descriptor: reader)?.identity == FileStatus(descriptor: descriptor)?.identity else {
            log("the end of '\(path)' cannot be checked for a torn line: it was moved")
            return size
        }
        guard let start = try lastLine(of: reader, size: size) else { return size }
        var tail = TornCheck()
        for position in stride(from: start, to: size, by: RegularFile.chunk) {
            tail.feed(try read(reader, from: position, to: min(size, position + RegularFile.chunk)))
        }
        if tail.isTorn {
            let result = again { ftruncate(descriptor, start) }
            if result == 0 {
                log("cut off a torn line of \(size - start) bytes at the end of '\(path)'")
                return start
            }
            log("a torn line of \(size - start) bytes stays in '\(path)': \(systemWords(-result))")
        }
        let newline = again { Int32(clamping: write(descriptor, "\n", 1)) }
        guard newline == 1 else { throw FileFault("cannot write to", path: path, code: newline < 0 ? -newline : EIO) }
        return size + 1
    }

    /// Returns the offset of the beginning of the last line, or nil if the file ends in a newline.
    private func lastLine(of reader: Int32, size: Int) throws(FileFault) -> Int? {
        guard try read(reader, from: size - 1, to: size) != [UInt8(ascii: "\n")] else { return nil }
        var end = size
        while end > 0 {
            let start = max(0, end - RegularFile.chunk)
            if let newline = try read(reader, from: start, to: end).lastIndex(of: UInt8(ascii: "\n")) { return start + newline + 1 }
            end = start
        }
        return 0
    }

    private func read(_ reader: Int32, from start: Int, to end: Int) throws(FileFault) -> [UInt8] {
        assert(start >= 0 && start <= end, "a part of a file ends before it begins")
        var bytes = [UInt8](repeating: 0, count: end - start)
        var filled = 0
        while filled < bytes.count {
            let wanted = bytes.count - filled
            let count = bytes.withUnsafeMutableBytes { pread(reader, $0.baseAddress! + filled, wanted, start + filled) }
            assert(count <= wanted, "more bytes were read than there is space for")
            if count == 0 { return Array(bytes[..<filled]) }
            if count < 0, errno != EINTR { throw FileFault("cannot read the end of", path: path, code: errno) }
            filled += max(0, count)
        }
        return bytes
    }
}

/// Decides whether a line is the rest of an event whose write was cut short: the beginning of an object, or zeros after a power cut.
struct TornCheck {
    private var first: UInt8?
    private var depth = 0
    private var inText = false
    private var escaped = false
    private var zeros = false

    /// True if the line is torn. The router writes only valid JSON, in which the first bracket is closed only at the end of the object.
    var isTorn: Bool { zeros || (first == UInt8(ascii: "{") && (depth > 0 || inText)) }

    mutating func feed(_ bytes: [UInt8]) {
        for byte in bytes {
            if first == nil, ![0x20, 0x09, 0x0d].contains(byte) { first = byte }
            if byte == 0 { zeros = zeros || first == 0 || first == UInt8(ascii: "{") }
            if inText {
                inText = escaped || byte != UInt8(ascii: "\"")
                escaped = !escaped && byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: "\"") {
                inText = true
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                depth -= 1
            }
        }
    }
}
