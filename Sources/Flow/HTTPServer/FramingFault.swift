// Why the bytes of a client are not a request. The connection must end after the answer, since the start of the next request is unknown.

public enum FramingFault: Error, Equatable, Sendable {
    /// They are not what RFC 9112 demands. The text says why.
    case malformed(String)
    /// The request line has more bytes than a head may have.
    case longTarget
    /// The head has more bytes than the limit.
    case largeHead
    /// The head has more headers than the limit.
    case manyFields
    /// There is no memory for the beginning of a head that has arrived.
    case noMemory
}

/// Returns true if the byte may be part of a token, such as a method or the name of a header (RFC 9110).
@inline(__always) func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"),
        UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
        UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
        true
    default: false
    }
}

/// Returns true for the two bytes that RFC 9110 allows around the value of a header.
@inline(__always) func isBlankByte(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

/// Returns true for the bytes that no header and no line of a chunked body contains.
@inline(__always) func isControlByte(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7f }
