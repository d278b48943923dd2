// Says where the body of a request ends and if another request may follow (RFC 9112, 6). Each of the headers that decide it may be there once.
// A head that two programs could frame in two ways is refused, even where the RFC allows to guess. It is pure.

public struct RequestFraming: Equatable, Sendable {
    public enum Body: Equatable, Sendable {
        case length(Int)
        case chunked
    }

    public internal(set) var body = Body.length(0)
    /// True if the client waits for 100 Continue before it sends the body.
    public internal(set) var expectsContinue = false
    /// True if the client wants to send more requests on this connection.
    public internal(set) var keepsAlive = true

    init() {}

    /// Reads a complete head.
    init(_ head: HeadParser, _ bytes: UnsafeBufferPointer<UInt8>) throws(FramingFault) {
        let lines = try FramingLines(head, bytes)
        let isOld = head.minorVersion == 0
        keepsAlive = !lines.closes && (!isOld || lines.keeps)
        if let coding = lines.coding {
            guard lines.length == nil else { throw .malformed("Content-Length and Transfer-Encoding together: expected one of them") }
            guard !isOld, isSame(bytes[coding], as: "chunked") else { throw .malformed("expected Transfer-Encoding: chunked") }
            body = .chunked
        } else if let length = lines.length {
            body = .length(try RequestFraming.number(bytes[length]))
        }
        if !isOld, body != .length(0), let expect = lines.expect { expectsContinue = isSame(bytes[expect], as: "100-continue") }
    }

    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) throws(FramingFault) -> Int {
        guard (1...18).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .malformed("Content-Length must be a whole number")
        }
        return digits.reduce(0) { 10 * $0 + Int($1) - 0x30 }
    }
}

/// The headers that decide about the framing, and that each may be there once.
private struct FramingLines {
    var length: Range<Int>?
    var coding: Range<Int>?
    var expect: Range<Int>?
    var closes = false
    var keeps = false

    init(_ head: HeadParser, _ bytes: UnsafeBufferPointer<UInt8>) throws(FramingFault) {
        var host: Range<Int>?
        for field in head.fields {
            let name = bytes[field.name]
            switch name.count {
            case 4 where isSame(name, as: "host"):
                guard host == nil else { throw .malformed("Host is there twice") }
                host = field.value
            case 6 where isSame(name, as: "expect"):
                guard expect == nil else { throw .malformed("Expect is there twice") }
                expect = field.value
            case 10 where isSame(name, as: "connection"): readConnection(bytes[field.value])
            case 14 where isSame(name, as: "content-length"):
                guard length == nil else { throw .malformed("the length of the body is there twice") }
                length = field.value
            case 17 where isSame(name, as: "transfer-encoding"):
                guard coding == nil else { throw .malformed("the length of the body is there twice") }
                coding = field.value
            default: break
            }
        }
        guard let host else {
            if head.minorVersion == 0 { return }
            throw .malformed("Host is missing")
        }
        guard !bytes[host].contains(where: FramingLines.endsHost) else { throw .malformed("Host is not the name of a host") }
    }

    /// Returns true for a byte that a reader could take for the end of a host.
    private static func endsHost(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09, UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: ","):
            true
        default: false
        }
    }

    private mutating func readConnection(_ value: Slice<UnsafeBufferPointer<UInt8>>) {
        for part in value.split(separator: UInt8(ascii: ",")) {
            var word = part
            while let first = word.first, isBlankByte(first) { word.removeFirst() }
            while let last = word.last, isBlankByte(last) { word.removeLast() }
            closes = closes || isSame(word, as: "close")
            keeps = keeps || isSame(word, as: "keep-alive")
        }
    }
}

/// Compares without regard to the case of letters. The word has small letters, digits and dashes only.
private func isSame(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, as word: StaticString) -> Bool {
    guard bytes.count == word.utf8CodeUnitCount else { return false }
    var place = word.utf8Start
    for byte in bytes {
        // Setting the bit of small letters changes no digit, and no dash. A control character is in no header.
        guard byte | 0x20 == place.pointee else { return false }
        place += 1
    }
    return true
}
