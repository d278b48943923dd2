// Texts in URLs. Only the characters that RFC 3986 calls unreserved stay, so a text never ends the part of the URL that it is put into.

/// Returns a text as one segment of a path, or as a value of a query. The segments `.` and `..` stay as they are.
package func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for byte in text.utf8 {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: encoded.append(byte)
        default: encoded += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
    return String(decoding: encoded, as: UTF8.self)
}
