import Testing

@testable import VendorKit

/// Calls `body` with a value in memory that has bytes after it, as an event has.
private func with<R>(_ json: String, _ body: (Value) -> R) -> R {
    let bytes = Array(json.utf8) + [UInt8](repeating: UInt8(ascii: "\n"), count: 64)
    return bytes.withUnsafeBufferPointer { body(Value($0.baseAddress!, count: json.utf8.count)) }
}

@Suite("VendorKit: values")
struct ValueTests {
    @Test("members and elements are read in their order, with any spaces")
    func walk() {
        let members = with(#"{ "a" : [1, {"b":"}"}] ,"c":"\"," ,"d":{}}"#) { $0.members.map { "\(text($0.key))=\(text($0.value))" } }
        #expect(members == [#""a"=[1, {"b":"}"}]"#, #""c"="\",""#, #""d"={}"#])
        #expect(with(#"[ 1 ,"]",[2] ]"#) { $0.elements.map(text) } == ["1", #""]""#, "[2]"])
        #expect(with("{ }") { $0.members.map { _ in 0 } }.isEmpty && with("[ ]") { $0.elements.map(text) }.isEmpty)
        #expect(with("7") { $0.members.map { _ in 0 } }.isEmpty && with("7") { $0.elements.map(text) }.isEmpty)
    }

    private func text(_ value: Value) -> String { String(decoding: value.json, as: UTF8.self) }

    @Test("texts are compared decoded, and counted in characters")
    func texts() {
        #expect(
            with(#""tr\u0061ck""#) { $0.isText("track") } && !with(#""track ""#) { $0.isText("track") } && !with("1") { $0.isText("1") })
        #expect(with(#""é\u00e9\ud83d\ude00""#) { $0.characters } == 3)
        // A vendor counts what it gets: half of a pair is sent as U+FFFD, so it is a character too.
        #expect(with(#""\ud83d\ud83dx\n""#) { $0.characters } == 4)
        #expect(with(#""\ud83d\ud83dx\n""#) { $0.isLonger(than: 3) })
        #expect(with(#""\ud83d""#) { $0.text } == nil)
        #expect(with(#"{"a":[{"b":"[["}],"c":1}"#) { $0.depth } == 3 && with(#""[""#) { $0.depth } == 0)
    }

    @Test("the beginning of a text ends between characters, and never inside an escape")
    func beginnings() {
        func beginning(_ json: String, _ most: Int) -> String {
            var room = most
            let bytes = with(json) { String(decoding: $0.body(within: &room), as: UTF8.self) }
            return "\(bytes)|\(room)"
        }
        #expect(beginning(#""abc""#, 2) == "ab|0" && beginning(#""abc""#, 4) == "abc|1" && beginning("7", 4) == "|4")
        #expect(beginning(#""é\n\u00e9x""#, 3) == #"é\n\u00e9|0"#)
        #expect(beginning(#""\ud83d\ude00\ud83dx""#, 2) == #"\ud83d\ude00\ud83d|0"#)
        #expect(beginning(#""\uDBFF\uDFFF😀x""#, 2) == #"\uDBFF\uDFFF😀|0"#)
        #expect(beginning(#""\ud83d""#, 1) == #"\ud83d|0"# && beginning(#""\ude00\ude00""#, 1) == #"\ude00|0"#)
    }

    @Test("a text can be a time, and an id gives the same UUID each time")
    func times() {
        #expect(with(#""1970-01-01T00:00:01Z""#) { $0.time } == 1_000_000_000 && with(#""soon""#) { $0.time } == nil)
        #expect(with("1970") { $0.time } == nil)
        #expect(with(#""a""#) { $0.derivedUUID } == with(#""\u0061""#) { $0.derivedUUID })
        #expect(with(#""1""#) { $0.derivedUUID } == with("1") { $0.derivedUUID } && with("2") { $0.derivedUUID }.count == 16)
    }

    @Test("a set of texts has texts and numbers, and ignores the case of letters only if it is told to")
    func sets() {
        let set = TextSet(["none", "0", "[object object]"], ignoringCase: true)
        #expect([#""None""#, #""n\u006fne""#, "0", #""0""#, #""[OBJECT object]""#].allSatisfy { with($0, set.contains) })
        #expect(![#""non""#, #""nonE1""#, "00", "null", #""{object object]""#].contains { with($0, set.contains) })
        #expect(!with(#""None""#, TextSet(["none"]).contains))
    }

    @Test("SHA-1 and UUIDs of version 5 are those of their documents")
    func uuids() {
        #expect(sha1("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(sha1(String(repeating: "a", count: 119)) == "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56")
        #expect(sha1("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        // RFC 9562, appendix A.4.
        let dns: [UInt8] = [0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8]
        let uuid = Array("www.example.com".utf8).withUnsafeBufferPointer { UUIDs.withDerived(from: $0, in: dns) { Array($0) } }
        #expect(hex(uuid) == "2ed6657de927568b95e12665a8aea6a2")
    }

    private func sha1(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: SHA1.size)
        bytes.withUnsafeBufferPointer { bytes in
            digest.withUnsafeMutableBufferPointer { digest in
                let (start, end) = (
                    UnsafeBufferPointer(rebasing: bytes[..<(bytes.count / 3)]), UnsafeBufferPointer(rebasing: bytes[(bytes.count / 3)...])
                )
                SHA1.hash(start, followedBy: end, into: digest)
            }
        }
        return hex(digest)
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
