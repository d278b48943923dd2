import HTTPSupport
import PluginKit
import Testing

@testable import NATS

@Suite("nats: settings")
struct SettingsTests {
    @Test(
        "each fault of the settings is named with its remedy",
        arguments: [
            (#""servers": "localhost:4222""#, "servers: each must begin with nats:// or tls://"),
            (
                #""servers": "nats://me:hunter22@a""#,
                "servers: an address holds a user, a password or a token; put them into user, password or token instead"
            ),
            (#""servers": []"#, "servers names no server"),
            (#""servers": "nats://a:0""#, "servers: 'a:0' is not an address: the port is not a number from 1 to 65535"),
            (#""servers": "nats://a/b""#, "servers: 'a/b' is not an address: the host is neither a name nor an address"),
            (#""servers": "nats://[1""#, "servers: '[1' is not an address: the bracket is not closed"),
            (#""servers": "nats://a", "user": "u""#, "user is set without password"),
            (#""servers": "nats://a", "password": "p""#, "password is set without user"),
            (
                #""servers": "nats://a", "user": "u", "password": "p", "token": "t""#,
                "user and token are both set; a connection has credentials of one kind"
            ),
            (
                #""servers": "nats://a", "credentials": "/nowhere/a.creds""#,
                "credentials: cannot read /nowhere/a.creds: No such file or directory"
            ),
            (
                #""servers": "nats://a", "nkey": {"public": "x", "seed": "/dev/null"}"#,
                "nkey.public is no public key of a user: those have 56 characters and begin with U"
            ),
            (#""servers": "nats://a", "tls": {}"#, "tls is set, but no server begins with tls://; nats:// uses no TLS"),
            (#""servers": "tls://a", "tls": {"key": "/dev/null"}"#, "tls.certificate and tls.key are set together or not at all"),
            (#""servers": "nats://a", "timeout": {"total": 0}"#, "timeout.total must be between 1ms and 1h"),
            (
                #""servers": "nats://a", "stream": "a.b""#,
                "stream is no name of a stream: it is empty, too long, or holds a space or one of . * > / \\ \""
            ),
        ])
    func faults(_ settings: String, _ message: String) { #expect(refusal(#"{"subject": "a", \#(settings)}"#) == message) }

    @Test(
        "a subject that is no subject is refused",
        arguments: [
            ("a b", "subject holds a space, a control character or a character that is not ASCII"),
            ("a.*", "subject holds '*', which is a wildcard; events go to one subject"),
            ("a.>", "subject holds '>', which is a wildcard; events go to one subject"),
            (".a", "subject has an empty part: a dot at its beginning or end, or two dots in a row"),
            ("a..b", "subject has an empty part: a dot at its beginning or end, or two dots in a row"),
            ("", "subject has an empty part: a dot at its beginning or end, or two dots in a row"),
            ("$JS.API.x", "subject begins with '$' or _INBOX, which belong to the server"),
            ("a.{", "subject holds a single '{'; a member is written as {type} or {properties.plan}"),
            ("a.}", "subject holds a single '}'; a member is written as {type} or {properties.plan}"),
            ("a.{}", "subject: {} names no member: a path needs a key"),
            ("{a}{b}{c}{d}{e}{f}{g}{h}{i}", "subject has 9 members, at most 8 are allowed"),
        ])
    func subjects(_ subject: String, _ message: String) {
        #expect(refusal(#"{"servers": "nats://a", "subject": "\#(subject)"}"#) == message)
    }

    @Test("servers are one or several, with or without a port, also with an IPv6 address")
    func servers() throws {
        let settings = try ServerSettings(Settings(json: #"{"servers": ["nats://a", "tls://[::1]:5/", "nats://a:4222"]}"#))
        #expect(settings.servers.map(\.origin) == ["nats://a:4222", "tls://[::1]:5"])
        #expect(settings.servers[1].host == "::1")
    }

    @Test("a missing library is a fault of the settings, and a broken one is a fault of the delivery")
    func library() throws {
        let settings = try Settings(json: #"{"servers": "nats://127.0.0.1:9", "subject": "a"}"#)
        let missing = NATSLibrary(isFound: { false }, load: { "it is not there" })
        #expect { try NATSProvider(settings: settings, clock: .system, library: missing) } throws: { "\($0)" == "it is not there" }
        let broken = NATSLibrary(isFound: { true }, load: { "it is broken" })
        let provider = try NATSProvider(settings: settings, clock: .system, library: broken)
        defer { provider.close() }
        guard case .failed(_, let words) = provider.probe(within: 1000) else {
            Issue.record("a probe without the library was made")
            return
        }
        #expect(words == "it is broken")
    }

    @Test("the filter for streams has a wildcard for each part that depends on the event")
    func filter() throws {
        let rules = try NATSRules(Settings(json: #"{"servers": "nats://a", "subject": "a.x{type}.b.{event}"}"#))
        #expect(rules.filter == "a.*.b.*")
    }
}
