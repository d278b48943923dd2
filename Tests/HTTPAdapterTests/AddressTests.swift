import PluginKit
import Seeded
import Testing

@testable import HTTPKit

@Suite("http: URLs")
struct AddressTests {
    @Test(
        "a URL has an origin, and the text that is sent",
        arguments: [
            ("http://h", "http://h", "http://h/"), ("HTTPS://H.Example", "https://H.Example", "https://H.Example/"),
            ("https://h:443/a", "https://h:443", "https://h:443/a"), ("http://h:080/", "http://h:80", "http://h:80/"),
            ("http://h:/x", "http://h", "http://h/x"), ("http://h?q=1", "http://h", "http://h/?q=1"),
            ("http://127.0.0.1:9/a//b", "http://127.0.0.1:9", "http://127.0.0.1:9/a//b"),
            ("http://[::1]:8080/", "http://[::1]:8080", "http://[::1]:8080/"),
            ("http://a_b.c-d.e./", "http://a_b.c-d.e.", "http://a_b.c-d.e./"),
            ("http://h/ä?ö=ü", "http://h", "http://h/%c3%a4?%c3%b6=%c3%bc"), ("http://u:p@h:1/", "http://h:1", "http://u:p@h:1/"),
            ("http://h/a..b/.c/...?x=/../", "http://h", "http://h/a..b/.c/...?x=/../"),
        ])
    func accepted(url: String, origin: String, text: String) throws {
        let address = try Address(url, setting: "url")
        #expect(address.origin == origin && address.text == text)
        #expect(CurlLibrary.system.load() == nil && address.isReadAlike, "libcurl reads it in another way")
    }

    @Test(
        "what two parsers may read differently is refused",
        arguments: [
            "http:h", "http:/h", "http:///h", "//h", "http://", "http://:80", "http://@", "http://a@b@c", "http://h:0", "http://h:65536",
            "http://h:8o", "http://h:-1", "http://h:80:80", "http://127.1", "http://0x7f000001", "http://2130706433", "http://0177.0.0.1",
            "http://1.2.3.256", "http://1.2.3.4.5", "http://1.2.3.4.", "http://a.0xff", "http://a..b", "http://.a", "http://h%2f",
            "http://h\\@x",
            "http://[::1", "http://[]", "http://[::1]x", "http://[::1%25eth0]", "http://[127.0.0.1]", "http://h/../x", "http://h/a/./b",
            "http://h/..",
            "http://(h)", "http://h;x", "http://h,i", "http://user@", "http://h\u{7f}/", "http://h /", "http://h/\0",
        ])
    func refused(url: String) { #expect(throws: SettingsFault.self) { _ = try Address(url, setting: "url") } }

    @Test("libcurl finds the same parts in every URL that is accepted, whatever bytes it is made of")
    func alike() throws {
        try #require(CurlLibrary.system.load() == nil)
        var random = Seeded(state: 14)
        let pieces = [
            "http://", "https://", "HTTP://", "h", "a.b", "127.0.0.1", "1", "0x1", "[::1]", "[", "]", ":", "80", "443", "@", "/", "//", "?",
            "#", "%",
            "%2e", ".", "..", "\\", "&", "=", "ä", "-", "_", "~", "+", ";", ",", "!", "$", "'", "(", "*", "{", "|", "^", "`", "<", "\"",
        ]
        var accepted = 0
        for _ in 0..<20_000 {
            let url = random.pick(["http://", "https://"]) + (0..<random.below(7)).map { _ in random.pick(pieces) }.joined()
            guard let address = try? Address(url, setting: "url") else { continue }
            accepted += 1
            #expect(address.isReadAlike, "\(url)")
        }
        #expect(accepted > 2000, "only \(accepted) URLs were accepted")
    }
}
