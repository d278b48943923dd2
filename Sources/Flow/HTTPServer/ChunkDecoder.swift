// Reads the framing of a chunked body, as strictly as `HeadParser` reads a head. Every line must end in a carriage return and a line feed, a
// size is digits alone, and what follows a chunk is an empty line. Extensions and trailers are skipped. It is pure.

internal import Glibc

struct ChunkDecoder: Sendable {
    /// The most bytes of a line, and the most lines of trailers.
    static let mostLine = 1024
    static let mostTrailers = 64

    enum Step: Equatable {
        /// The next bytes, so many, are a piece of the body. They are passed.
        case piece(Int)
        /// More bytes are needed.
        case incomplete
        /// The body has ended.
        case end
    }

    private enum Part {
        case size
        case data(left: Int)
        case dataEnd
        case trailers(lines: Int)
    }
    private var part = Part.size

    /// Reads the bytes from `at` on and moves `at` behind what it has read. A piece of the body begins at `at` and is left to the caller.
    mutating func next(_ bytes: UnsafeBufferPointer<UInt8>, at: inout Int) throws(FramingFault) -> Step {
        while true {
            switch part {
            case .data(let left):
                let count = min(left, bytes.count - at)
                guard count > 0 else { return .incomplete }
                part = left == count ? .dataEnd : .data(left: left - count)
                return .piece(count)
            case .dataEnd:
                guard let line = try line(bytes, &at) else { return .incomplete }
                guard line.isEmpty else { throw .malformed("a chunk is longer than its size") }
                part = .size
            case .size:
                guard let line = try line(bytes, &at) else { return .incomplete }
                let size = try ChunkDecoder.size(bytes, line)
                part = size == 0 ? .trailers(lines: 0) : .data(left: size)
            case .trailers(let lines):
                guard let line = try line(bytes, &at) else { return .incomplete }
                if line.isEmpty { return .end }
                guard lines < ChunkDecoder.mostTrailers, ChunkDecoder.isField(bytes[line]) else {
                    throw .malformed("the trailers of the body are broken")
                }
                part = .trailers(lines: lines + 1)
            }
        }
    }

    /// Returns the next line without its end, or nil if it has not arrived.
    private func line(_ bytes: UnsafeBufferPointer<UInt8>, _ at: inout Int) throws(FramingFault) -> Range<Int>? {
        guard at < bytes.count, let base = bytes.baseAddress, let found = memchr(base + at, 0x0a, bytes.count - at) else {
            if bytes.count - at > ChunkDecoder.mostLine { throw .malformed("a line of a chunked body is too long") }
            return nil
        }
        let newline = UnsafeRawPointer(found) - UnsafeRawPointer(base)
        guard newline - at <= ChunkDecoder.mostLine else { throw .malformed("a line of a chunked body is too long") }
        guard newline > at, bytes[newline - 1] == 0x0d, !bytes[at..<newline - 1].contains(where: isControlByte) else {
            throw .malformed("a line of a chunked body ends without a carriage return, or contains a control character")
        }
        defer { at = newline + 1 }
        return at..<newline - 1
    }

    /// Returns the size of a chunk: hexadecimal digits, and perhaps an extension.
    private static func size(_ bytes: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) throws(FramingFault) -> Int {
        var size = 0
        var at = line.lowerBound
        while at < line.upperBound, let digit = hexDigit(bytes[at]) {
            guard size < 1 << 50 else { throw .malformed("the size of a chunk is too large") }
            size = size << 4 | digit
            at += 1
        }
        guard at > line.lowerBound, at == line.upperBound || bytes[at] == UInt8(ascii: ";") else {
            throw .malformed("the size of a chunk is not a hexadecimal number")
        }
        return size
    }

    private static func isField(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return false }
        return line[..<colon].allSatisfy(isTokenByte)
    }

    private static func hexDigit(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte) - 0x30
        case 0x41...0x46: Int(byte) - 0x41 + 10
        case 0x61...0x66: Int(byte) - 0x61 + 10
        default: nil
        }
    }
}
