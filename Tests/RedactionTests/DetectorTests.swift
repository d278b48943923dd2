// Tests what each detector finds and what it leaves unchanged.

import Testing

@testable import Redaction

@Suite struct DetectorTests {
    /// Returns the text with its finds replaced.
    private func found(_ text: String) throws -> String {
        let line = try scrubbed(#"{"k":"\#(text)"}"#).line
        return String(line.dropFirst(6).dropLast(2))
    }

    @Test(arguments: [
        ("bob@example.com", "[email]"), ("Mail bob.b+x@mail.example.co.uk.", "Mail [email]."), ("<bob@x.org>", "<[email]>"),
        ("'bob@x.org'", "'[email]'"), ("o'brien@x.org", "[email]"), ("mailto:bob@x.org?cc=al@x.org", "mailto:[email]?cc=[email]"),
        ("müller@bücher.example", "[email]"), ("请联系bob@x.org。谢谢", "请联系[email]。谢谢"), ("u=bob%40x.org&v=1", "u=[email]&v=1"),
        ("a@b@c.de", "a@[email]"), ("bob@x.org1", "[email]1"), ("bob@x.com-y", "[email]-y"), ("bob@x.xn--p1ai", "[email]"),
        ("1@2.io", "[email]"), ("--bob@x.org", "--[email]"), ("bob@x.org, al@y.org", "[email], [email]"),
        ("bob@localhost", "bob@localhost"), ("@bob", "@bob"), ("a @ b.com", "a @ b.com"), ("bob@x.c", "bob@x.c"), ("bob@.com", "bob@.com"),
        ("3@4.5", "3@4.5"), ("bob@x.org.", "[email]."),
    ])
    func `an e-mail address needs a local part and a domain that ends in letters`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test(arguments: [
        ("4111111111111111", "[card]"), ("4111 1111 1111 1111", "[card]"), ("4111-1111-1111-1111", "[card]"),
        ("378282246310005", "[card]"), ("3782 822463 10005", "[card]"), ("no 12 4111 1111 1111 1111 ok", "no 12 [card] ok"),
        ("card:5555555555554444.", "card:[card]."), ("card_6011111111111117", "card_[card]"), ("30569309025904", "[card]"),
        ("4222222222222", "[card]"), ("2223003122003222", "[card]"), ("3530111333300000", "[card]"),
        ("4111111111111112", "4111111111111112"), ("14111111111111111", "14111111111111111"), ("41111111111111111", "41111111111111111"),
        ("a4111111111111111", "a4111111111111111"), ("4111111111111111b", "4111111111111111b"),
        ("4111111111111111.5", "4111111111111111.5"), ("0.4111111111111111", "0.4111111111111111"),
        ("1-4111-1111-1111-1111", "1-4111-1111-1111-1111"), ("4111-1111-1111-1111-1", "4111-1111-1111-1111-1"),
        ("1234567812345670", "1234567812345670"), ("4111  1111 1111 1111", "4111  1111 1111 1111"),
        ("0000000000000000", "0000000000000000"),
        ("4111 1111 1111 1111 7", "[card] 7"),
    ])
    func `a card number has a known prefix, a valid check digit and nothing joined to it`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test(arguments: [
        ("10.0.0.1", "[ip]"), ("http://192.168.1.255:8080/x", "http://[ip]:8080/x"), ("10.0.0.0/8", "[ip]/8"), ("(1.2.3.4)", "([ip])"),
        ("from 1.2.3.4.", "from [ip]."), ("2001:db8::1", "[ip]"), ("[2001:db8::1]:443", "[[ip]]:443"), ("fe80::1%eth0", "[ip]%eth0"),
        ("::1", "[ip]"), ("::ffff:10.0.0.1", "[ip]"), ("1:2:3:4:5:6:7:8", "[ip]"), ("ip:2001:db8::1", "ip:[ip]"),
        ("ipv6:2001:db8::1.", "ipv6:[ip]."), ("is fe80::1: ok", "is [ip]: ok"), ("1::", "[ip]"),
        ("10.0.0.256", "10.0.0.256"), ("1.2.3", "1.2.3"), ("1.2.3.4.5", "1.2.3.4.5"), ("v1.2.3.4", "v1.2.3.4"), ("01.2.3.4", "01.2.3.4"),
        ("1.2.3.4a", "1.2.3.4a"), ("12:34:56", "12:34:56"), ("A::b", "A::b"), ("std::string", "std::string"), ("::", "::"),
        ("1:2:3:4:5:6:7", "1:2:3:4:5:6:7"), ("1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:9"), ("1::2::3", "1::2::3"),
        ("00:1a:2b:3c:4d:5e", "[mac]"), ("12345::1", "12345::1"), ("2024-06-10T12:34:56.789Z", "2024-06-10T12:34:56.789Z"),
        ("1:2:3:4:5:6:7::", "[ip]"), ("1:2:3:4:5:6:7:8::", "1:2:3:4:5:6:7:8::"), ("::1.2.3.256", "::1.2.3.256"),
    ])
    func `an IP address is complete and not a part of something longer`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test(arguments: [
        ("DE89370400440532013000", "[iban]"), ("DE89 3704 0044 0532 0130 00 EUR", "[iban] EUR"), ("gb82 west 1234 5698 7654 32", "[iban]"),
        ("iban=NL91ABNA0417164300;", "iban=[iban];"), ("NO9386011117947", "[iban]"), ("MT84MALT011000012345MTLCAST001S", "[iban]"),
        ("DE88370400440532013000", "DE88370400440532013000"), ("DE8937040044053201300", "DE8937040044053201300"),
        ("DE893704004405320130001", "DE893704004405320130001"), ("XX89370400440532013000", "XX89370400440532013000"),
        ("XDE89370400440532013000", "XDE89370400440532013000"), ("DE89  370400440532013000", "DE89  370400440532013000"),
    ])
    func `an IBAN has the length of its country and valid check digits`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test(arguments: [
        ("+4915112345678", "[phone]"), ("+49 (0) 89 1234567", "[phone]"), ("call +1 (212) 555-0123 now", "call [phone] now"),
        ("tel:+1-212-555-0123", "tel:[phone]"), ("0049 89 1234567", "[phone]"), ("030 1234567", "[phone]"), ("(030) 12345678", "[phone]"),
        ("06 12 34 56 78", "[phone]"), ("089/12345678", "[phone]"), ("020 7946 0958.", "[phone]."), ("(212) 555-0123", "[phone]"),
        ("212-555-0123", "[phone]"), ("212.555.0123", "[phone]"), ("1-212-555-0123", "[phone]"), ("(+49) 89 1234567", "[phone]"),
        ("030 1234567 10115 Berlin", "[phone] 10115 Berlin"),
        ("2125550123", "2125550123"), ("4915112345679", "4915112345679"), ("2024-06-10", "2024-06-10"), ("01.02.2024 12", "01.02.2024 12"),
        ("06/10/2024 1000", "06/10/2024 1000"), ("112-555-0123", "112-555-0123"), ("212-155-0123", "212-155-0123"),
        ("+1234567", "+1234567"),
        ("+0123456789", "+0123456789"), ("212-555-0123-4", "212-555-0123-4"), ("9-212-555-0123", "9-212-555-0123"),
        ("5+491511234567", "5+491511234567"),
        ("0123456789", "0123456789"), ("1718000000", "1718000000"),
        ("a0b1c2d3-0123-4567-8901-a12345678901", "a0b1c2d3-0123-4567-8901-a12345678901"),
        ("01.02.03:123456", "01.02.03:123456"),
    ])
    func `a telephone number has a plus or is written in groups`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    private static let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"

    @Test(arguments: [
        (jwt, "[token]"), ("t=\(jwt)&x", "t=[token]&x"), ("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0.", "[token]"),
        ("Authorization: Bearer abcdef123", "Authorization: [token]"), ("bearer  mF_9.B5f-4.1JqM==", "[token]"),
        ("BEARER%20abc123def", "[token]"), ("bearer abcdefghijabcdefghijabcdefghijab", "[token]"), ("Bearer \(jwt)", "[token]"),
        ("bearer authentication", "bearer authentication"), ("forbearer abcdef123", "forbearer abcdef123"),
        ("Bearer abc123", "Bearer abc123"),
        ("Bearer:abcdef123", "Bearer:abcdef123"), ("eyJhbGciOi.eyJz", "eyJhbGciOi.eyJz"),
        ("xeyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.a", "xeyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.a"),
        ("_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.a", "_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.a"),
    ])
    func `a token is a web token or follows the word bearer`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test func `usual values of product events are left unchanged`() throws {
        for text in [
            "user_1234567", "8f14e45f-ceea-467f-a9d0-4a1f0c3b2d11", "https://shop.example/p/3fa1b2c3?ref=shoes", "17.5.1", "iPhone14,3",
            "3FA1B2C3D4", "Running shoes ½ size", "en-US", "1920x1080", "12345.67", "2026-11-21T05:59:59.123+00:00",
        ] {
            #expect(try found(text) == text)
        }
    }
}
