import Testing

@testable import Sending

@Suite("The address that events are sent to")
struct TargetTests {
    @Test("an address without a path means the router's own endpoint")
    func plain() throws {
        let target = try Target("http://127.0.0.1:8088")
        #expect(target.address == .tcp(host: "127.0.0.1", port: "8088") && target.host == "127.0.0.1:8088")
        #expect(target.path == "/v1/events?results=each" && !target.isExposed)
    }

    @Test("a path and a query stay, and a name without a port means 80")
    func path() throws {
        let target = try Target("http://events.example/in?team=a")
        #expect(target.address == .tcp(host: "events.example", port: "80") && target.path == "/in?team=a&results=each")
        #expect(target.isExposed)
        #expect(try Target("http://[::1]:80/").address == .tcp(host: "::1", port: "80"))
    }

    @Test("https uses libcurl, and a Unix socket uses its path")
    func others() throws {
        #expect(try Target("https://events.example").url == "https://events.example/v1/events?results=each")
        #expect(try Target("https://events.example").address == .tls)
        #expect(try Target("unix:/run/x.sock").address == .unix(path: "/run/x.sock"))
    }

    @Test(
        "an invalid address is refused with a message",
        arguments: [
            ("ftp://x", "--to must be http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH, is 'ftp://x'"),
            ("http://a b", "--to must be a URL of plain characters"),
            ("http://x\r\nKey: 1", "--to must be a URL of plain characters"),
            ("http://:80", "--to: ':80' is not HOST[:PORT]"),
            ("http://x:99999", "--to: 'x:99999' is not HOST[:PORT]"),
            ("unix:x", "--to unix:PATH must be an absolute path of at most 107 bytes, is 'unix:x'"),
            (
                "https://key@x",
                "--to must not contain a key, since others can see it in the list of processes; use --key-file or SWITCHYARD_KEY"
            ),
        ])
    func refused(text: String, message: String) {
        #expect(throws: Target.Fault(message)) { try Target(text) }
    }
}
