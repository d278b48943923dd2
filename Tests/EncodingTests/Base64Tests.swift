import Encoding
import Testing

@Suite("Base64")
struct Base64Tests {
    @Test(
        "is padded to groups of four characters (the examples of RFC 4648)",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
        ])
    func examples(text: String, encoded: String) { #expect(encode(Array(text.utf8)) == encoded) }

    @Test("has a character for each value of six bits")
    func alphabet() {
        let bytes: [UInt8] = stride(from: 0, to: 64, by: 4).flatMap { (first: UInt32) -> [UInt8] in
            let word = first << 18 | (first + 1) << 12 | (first + 2) << 6 | (first + 3)
            return [UInt8(word >> 16 & 255), UInt8(word >> 8 & 255), UInt8(word & 255)]
        }
        #expect(encode(bytes) == "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    }

    private func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        bytes.withUnsafeBufferPointer { Base64.encode($0) { text.append($0) } }
        return String(decoding: text, as: UTF8.self)
    }
}
