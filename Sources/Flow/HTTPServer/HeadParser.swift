// Reads the head of a request as RFC 9112 demands, and nothing more lenient. It refuses whatever two parsers could read in two ways: a line
// that ends in a bare line feed, a header that continues on the next line, blanks before a colon, a control character or a zero byte
// anywhere. So no request can be smuggled past a proxy. It is pure: it gets all bytes that have arrived, and remembers how far it has read.

internal import Glibc

struct HeadParser: Sendable {
    struct Limits: Sendable {
        /// The largest number of bytes of a head.
        var bytes = 32_768
        var fields = 100
    }

    struct Field: Sendable, Equatable {
        var name: Range<Int>
        /// The value without the blanks around it.
        var value: Range<Int>
    }

    enum Progress: Equatable, Sendable {
        case incomplete
        /// The head has ended at this place.
        case complete(end: Int)
    }

    /// The places of the parts in the bytes. They are valid when the head is complete.
    private(set) var method = 0..<0
    private(set) var target = 0..<0
    /// The digit after `HTTP/1.`.
    private(set) var minorVersion = 1
    private(set) var fields: [Field] = []

    private static let longestMethod = 32
    /// A head with more headers than this gives their memory back.
    private static let keptFields = 64

    private let limits: Limits
    private var lineStart = 0
    private var scanned = 0
    private var hasRequestLine = false
    private var hasBlankLine = false

    init(_ limits: Limits) { self.limits = limits }

    /// Prepares for the next head.
    mutating func reset() {
        (lineStart, scanned, hasRequestLine, hasBlankLine) = (0, 0, false, false)
        fields.removeAll(keepingCapacity: fields.count <= HeadParser.keptFields)
    }

    /// Reads the bytes of the head, which begin with the same bytes as in the call before.
    mutating func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(FramingFault) -> Progress {
        assert(scanned <= bytes.count, "the head has become shorter")
        while true {
            guard scanned < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + scanned, 0x0a, bytes.count - scanned)
            else {
                try checkBeginning(bytes)
                scanned = bytes.count
                if scanned > limits.bytes { throw hasRequestLine ? .largeHead : .longTarget }
                return .incomplete
            }
            let newline = UnsafeRawPointer(found) - UnsafeRawPointer(base)
            guard newline < limits.bytes else { throw hasRequestLine ? .largeHead : .longTarget }
            guard newline > lineStart, bytes[newline - 1] == 0x0d else {
                throw .malformed("a line of the head does not end in a carriage return and a line feed")
            }
            let line = lineStart..<newline - 1
            lineStart = newline + 1
            scanned = lineStart
            if !hasRequestLine {
                // Some old clients send an empty line behind a body.
                if line.isEmpty, !hasBlankLine {
                    hasBlankLine = true
                    continue
                }
                try readRequestLine(bytes, line)
                hasRequestLine = true
            } else if line.isEmpty {
                return .complete(end: lineStart)
            } else {
                try readField(bytes, line)
            }
        }
    }

    /// Refuses bytes that cannot become a request, such as those of TLS, before a line has ended.
    private func checkBeginning(_ bytes: UnsafeBufferPointer<UInt8>) throws(FramingFault) {
        guard !hasRequestLine, lineStart < bytes.count else { return }
        guard isTokenByte(bytes[lineStart]) || bytes[lineStart] == 0x0d else {
            throw .malformed("the request line does not begin with a method")
        }
    }

    private mutating func readRequestLine(_ bytes: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) throws(FramingFault) {
        guard let methodEnd = bytes[line].firstIndex(of: 0x20), methodEnd > line.lowerBound,
            methodEnd - line.lowerBound <= HeadParser.longestMethod, bytes[line.lowerBound..<methodEnd].allSatisfy(isTokenByte)
        else { throw .malformed("the request line does not begin with a method") }
        method = line.lowerBound..<methodEnd
        let rest = methodEnd + 1..<line.upperBound
        guard let targetEnd = bytes[rest].firstIndex(of: 0x20), targetEnd > rest.lowerBound,
            bytes[rest.lowerBound..<targetEnd].allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") })
        else { throw .malformed("the target of the request line is empty or contains a byte that no URL has") }
        target = rest.lowerBound..<targetEnd
        let version = bytes[targetEnd + 1..<line.upperBound]
        guard version.count == 8, version.dropLast().elementsEqual("HTTP/1.".utf8), let digit = version.last, (0x30...0x31).contains(digit)
        else { throw .malformed("the request line does not end in HTTP/1.1 or HTTP/1.0") }
        minorVersion = Int(digit) - 0x30
    }

    private mutating func readField(_ bytes: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) throws(FramingFault) {
        guard fields.count < limits.fields else { throw .manyFields }
        guard !isBlankByte(bytes[line.lowerBound]) else { throw .malformed("a header continues on the next line") }
        guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")), colon > line.lowerBound,
            bytes[line.lowerBound..<colon].allSatisfy(isTokenByte)
        else { throw .malformed("a line of the head is not a header") }
        var value = colon + 1..<line.upperBound
        while let first = value.first, isBlankByte(bytes[first]) { value.removeFirst() }
        while let last = value.last, isBlankByte(bytes[last]) { value.removeLast() }
        guard !bytes[value].contains(where: isControlByte) else { throw .malformed("a header contains a control character") }
        fields.append(Field(name: line.lowerBound..<colon, value: value))
    }
}
