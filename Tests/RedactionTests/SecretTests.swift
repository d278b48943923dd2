// Tests keys of programs, addresses of network interfaces, and the words and encodings around a find.

import Testing

@testable import Redaction

@Suite struct SecretTests {
    private func found(_ text: String) throws -> String {
        let line = try scrubbed(#"{"k":"\#(text)"}"#).line
        return String(line.dropFirst(6).dropLast(2))
    }

    private static let random = "x7Kq2mZp9Rt4Vw8Yb3Nc6Hd1"
    private static let long = random + random

    @Test(arguments: [
        "AKIAIOSFODNN7EXAMPLE", "AKIAQWERTYUIOPASDFGH", "ghp_\(long)", "github_pat_\(random)", "glpat-\(random)", "sk_live_\(random)",
        "xoxb-123456789012-\(random)", "AIza\(long)", "SG.\(random).\(long)", "npm_\(long)", "sk-ant-\(random)",
    ])
    func `a key with a published prefix is found`(_ key: String) throws {
        #expect(try found(key) == "[key]")
        #expect(try found("use \(key), please") == "use [key], please")
        #expect(try found("x\(key)") == "x\(key)")
    }

    @Test(arguments: ["AKIA123", "ghp_short", "sk_live_", "SG.12", "akiaiosfodnn7example", "glpat-", "AIzawa"])
    func `a prefix without the rest of a key stays`(_ text: String) throws { #expect(try found(text) == text) }

    @Test func `a private key is found up to its last line, or to the end of the text`() throws {
        let body = #"\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"#
        #expect(
            try found("a -----BEGIN RSA PRIVATE KEY-----\(body)-----END RSA PRIVATE KEY----- b") == "a -----[key] b")
        #expect(try found("-----BEGIN PRIVATE KEY-----\(body)MIIE") == "-----[key]")
        #expect(try found("-----BEGIN CERTIFICATE-----\(body)") == "-----BEGIN CERTIFICATE-----\(body)")
    }

    @Test(arguments: [
        ("api_key=\(random)", "api_key=[key]"), ("secretAccessKey: \(random)", "secretAccessKey: [key]"),
        ("password='\(random)'", "password='[key]'"), ("x-api-key: \(random).", "x-api-key: [key]."), ("token \(random)", "token [key]"),
        ("key=\(random)", "key=\(random)"), ("id=\(random)", "id=\(random)"), ("password=short1", "password=short1"),
        ("token abcdefghijklmnopqrstuvwxyz", "token abcdefghijklmnopqrstuvwxyz"),
        ("token 11111111112222222222a", "token 11111111112222222222a"),
    ])
    func `a long random text is a key only after a word for a secret`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test func `the key of a member is a word for a secret`() throws {
        #expect(try scrubbed(#"{"apiKey":"\#(Self.random)"}"#).line == #"{"apiKey":"[key]"}"#)
        #expect(try scrubbed(#"{"api_key" : "\#(Self.random)"}"#).line == #"{"api_key" : "[key]"}"#)
        #expect(try scrubbed(#"{"name":"\#(Self.random)"}"#).found.isEmpty)
    }

    @Test(arguments: [
        ("00:1a:2b:3c:4d:5e", "[mac]"), ("if 00-1A-2B-3C-4D-5E up", "if [mac] up"), ("001a.2b3c.4d5e", "[mac]"),
        ("fe:dc:ba:98:76:54", "[mac]"),
        ("6831.4497.8529", "[mac]"), ("2024.0611.1230", "2024.0611.1230"), ("24-06-10-12-30-15", "24-06-10-12-30-15"),
        ("00:1a:2b:3c:4d:5e:6f", "00:1a:2b:3c:4d:5e:6f"), ("00:1a:2b:3c:4d", "00:1a:2b:3c:4d"), ("00:1a-2b:3c:4d:5e", "00:1a-2b:3c:4d:5e"),
        ("ab:00:1a:2b:3c:4d:5e", "ab:00:1a:2b:3c:4d:5e"), ("8f14e45f-ceea-467f", "8f14e45f-ceea-467f"),
    ])
    func `the address of an interface has six pairs or three groups of four`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test(arguments: [
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.0.0 Safari/537.36", "Chrome/108.0.0.1",
        "Mozilla/5.0 (X11; rv:1.9.1.20)", "version 1.2.3.4", "Build: 10.0.0.1", "SDK 1.2.3.4", "app_version=1.2.3.4", "(Edg/99.1.2.3; x)",
    ])
    func `a version of four parts is not an address`(_ text: String) throws { #expect(try found(text) == text) }

    @Test(arguments: [
        ("http://10.0.0.1/x", "http://[ip]/x"), ("a/B/10.0.0.1", "a/B/[ip]"), ("client/10.0.0.1", "client/[ip]"),
        ("version 2, from 10.0.0.1", "version 2, from [ip]"), ("Chrome/108.0.0.0 from 10.0.0.1", "Chrome/108.0.0.0 from [ip]"),
    ])
    func `an address stays one beside names and versions`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test func `a member for versions holds no address`() throws {
        #expect(try scrubbed(#"{"appVersion":"1.2.3.4"}"#).found.isEmpty)
        #expect(try scrubbed(#"{"ip":"1.2.3.4"}"#).line == #"{"ip":"[ip]"}"#)
    }

    @Test(arguments: [
        ("v=%2B49%2089%20123456", "v=[phone]"), ("v=%2B49+89+123456&w=1", "v=[phone]&w=1"),
        ("card=4111%201111%201111%201111", "card=[card]"),
        ("4111+1111+1111+1111", "[card]"), ("iban=DE89+3704+0044+0532+0130+00", "iban=[iban]"), ("to=b%C3%BCr%40x.org", "to=[email]"),
        ("u=%22bob%40x.org%22", "u=%22[email]%22"), ("a%2F10.0.0.1", "a%2F[ip]"), ("100%25 of 10.0.0.1", "100%25 of [ip]"),
        ("%zz bob@x.org %4", "%zz [email] %4"), ("%C3bob@x.org%C3", "%[email]%C3"),
    ])
    func `a find in the escapes of a URL is found, and other escapes stay`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test(arguments: [
        ("phone: 5551234567", "phone: [phone]"), ("my mobile number is 5551234567", "my mobile number is [phone]"),
        ("电话：5551234567", "电话：[phone]"), ("tél. 5551234", "tél. [phone]"), ("hotel 5551234567", "hotel 5551234567"),
        ("iPhone 5551234567", "iPhone 5551234567"), ("call 212-555-0123 x12.", "call [phone]."), ("5551234567", "5551234567"),
        ("order 212-555-0123", "order 212-555-0123"), ("ORD-212-555-0123", "ORD-212-555-0123"), ("order +49 89 123456", "order [phone]"),
        ("0301234567", "[phone]"), ("0306406152", "0306406152"), ("13912345678", "[phone]"), ("12912345678", "12912345678"),
        ("600 466 109", "[phone]"), ("100 466 109", "100 466 109"), ("46 1027-3464", "[phone]"), ("28 60 12 90", "[phone]"),
    ])
    func `a word, a usual form, or a prefix makes a telephone number`(_ text: String, _ expected: String) throws {
        #expect(try found(text) == expected)
    }

    @Test(arguments: [
        ("order 4111111111111111", "order 4111111111111111"), ("Order #4111111111111111", "Order #4111111111111111"),
        ("order 7 4111111111111111", "order 7 [card]"), ("order 4111 1111 1111 1111", "order [card]"),
        ("my order was paid with 4111111111111111", "my order was paid with [card]"),
    ])
    func `the number of an order is not a card`(_ text: String, _ expected: String) throws { #expect(try found(text) == expected) }

    @Test func `the number in a member for orders is not a card`() throws {
        #expect(try scrubbed(#"{"order_id":"4111111111111111"}"#).found.isEmpty)
        #expect(try scrubbed(#"{"payment":"4111111111111111"}"#).line == #"{"payment":"[card]"}"#)
    }
}
