import StateFiles
import StoreFixtures
import Testing

@Suite("A sealed text")
struct SealTests {
    @Test("is opened only at the place for which it was sealed")
    func places() throws {
        let cipher = Cipher(secret("0123456789abcdef"))
        let text = Array("an event".utf8)
        let sealed = text.withUnsafeBytes { cipher.seal($0, at: "payload 1") }
        sealed.withUnsafeBytes { sealed in
            #expect(cipher.open(sealed, at: "payload 1") == text)
            #expect(cipher.open(sealed, at: "payload 2") == nil)
            #expect(cipher.open(sealed, at: "entries 1") == nil)
        }
    }
}
