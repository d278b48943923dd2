import Events
import Plans
import Seeded
import Testing

@testable import Editing
@testable import Models

@Suite struct HMACTests {
    private func hmac(_ secret: [UInt8], _ message: [UInt8]) -> String {
        var out = [UInt8](repeating: 0, count: 64)
        (message + [0]).withUnsafeBufferPointer { HMACKey(secret).write(ByteRun(base: $0.baseAddress!, count: message.count), to: &out) }
        return String(decoding: out, as: UTF8.self)
    }

    @Test("the hash is HMAC-SHA-256 for every length of key and value")
    func lengths() {
        var random = Seeded(state: 1)
        for count in 0...300 {
            let message = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            for keyCount in [0, 1, 32, 63, 64, 65, 200] {
                let secret = (0..<keyCount).map { _ in UInt8.random(in: 0...255, using: &random) }
                #expect(hmac(secret, message) == referenceHMAC(secret, message), "\(count) bytes under \(keyCount)")
            }
        }
    }

    @Test("the hash agrees with a published test case")
    func published() {
        // RFC 4231, test case 2.
        #expect(
            hmac(Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    private func hash(_ value: String) -> String? { edited(#"{"userId":\#(value)}"#, HashStep([path("userId")], key: 0)) }
    private func expected(_ text: String) -> String { #"{"userId":"\#(referenceHMAC(Array("secret".utf8), Array(text.utf8)))"}"# }

    @Test("strings are hashed by their decoded text, other values as they are written; null stays, and nothing is added if it is absent")
    func values() {
        #expect(hash(#""user-1""#) == expected("user-1"))
        #expect(hash(#""us\u0065r-1""#) == expected("user-1"))
        #expect(hash(#""""#) == expected(""))
        #expect(hash("17") == expected("17"))
        #expect(hash("1.0") == expected("1.0"))
        #expect(hash("true") == expected("true"))
        #expect(hash(#"{ "a": 1 }"#) == expected(#"{ "a": 1 }"#))
        #expect(hash("[1, 2]") == expected("[1, 2]"))
        let half = referenceHMAC(Array("secret".utf8), [0x78, 0xed, 0xa0, 0x80])
        #expect(hash(#""x\ud800""#) == #"{"userId":"\#(half)"}"# && hash(#""\u0078\uD800""#) == hash(#""x\ud800""#))
        #expect(hash("null") == #"{"userId":null}"#)
        #expect(edited("{}", HashStep([path("userId")], key: 0)) == "{}")
        let long = String(repeating: "long ", count: 200)
        #expect(hash("\"\(long)\"") == expected(long))
    }

    @Test("routes that hash a member with the same key get the same digest, another key gives another digest, and each event its own")
    func shared() {
        var plan = plan(providers: 3)
        plan.routes = (0..<3).map { i in
            route {
                $0.transforms = [HashStep([path("userId")], key: i / 2)]
                $0.providers = [i]
            }
        }
        let fixture = JudgeFixture(plan)
        fixture.take(#"{"userId":"a"}"#)
        fixture.take(#"{"userId":"b"}"#)
        #expect(fixture.lines(0) == [expected("a"), expected("b")])
        #expect(fixture.lines(1) == fixture.lines(0))
        #expect(fixture.lines(2)[0] == #"{"userId":"\#(referenceHMAC(Array("other".utf8), Array("a".utf8)))"}"#)
    }
}
