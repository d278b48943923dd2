import Foundation
import Glibc
import HTTPSupport
import PluginKit
import TestSupport
import Testing

/// Certificates that `openssl` makes for the tests: authorities, and certificates that they signed.
private final class Certificates: Sendable {
    static let shared = Certificates()
    let folder = TemporaryFolder()
    var ca: String { folder.path("ca.pem") }

    private init() {
        folder.write("good.ext", "subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        folder.write("wrong.ext", "subjectAltName=DNS:elsewhere.example\n")
        folder.write("client.ext", "extendedKeyUsage=clientAuth\n")
        folder.write(
            "ca.conf",
            """
            [ca]
            default_ca = this
            [this]
            database = \(folder.path("index"))
            serial = \(folder.path("serial"))
            new_certs_dir = \(folder.path)
            default_md = sha256
            policy = any
            unique_subject = no
            [any]
            commonName = supplied

            """)
        folder.write("index", "")
        folder.write("serial", "01\n")
        authority("ca")
        authority("other-ca")
        sign("good", by: "ca")
        sign("wrong", by: "ca")
        sign("client", by: "ca")
        sign("unknown", by: "other-ca", extensions: "good")
        sign("expired", by: "ca", extensions: "good", dates: ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"])
    }

    private func authority(_ name: String) {
        openssl([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-keyout", "\(name).key", "-out",
            "\(name).pem",
        ])
    }

    private func sign(_ name: String, by authority: String, extensions: String? = nil, dates: [String] = ["-days", "2"]) {
        openssl(["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=\(name)", "-keyout", "\(name).key", "-out", "\(name).csr"])
        openssl(
            [
                "ca", "-batch", "-notext", "-config", "ca.conf", "-cert", "\(authority).pem", "-keyfile", "\(authority).key", "-in",
                "\(name).csr",
                "-out", "\(name).pem", "-extfile", "\(extensions ?? name).ext",
            ] + dates)
    }

    private func openssl(_ arguments: [String]) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.standardOutput = FileHandle.nullDevice
        let errors = Pipe()
        process.standardError = errors
        do { try process.run() } catch { fatalError("openssl cannot be started: \(error)") }
        let text = (try? errors.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        precondition(process.terminationStatus == 0, "openssl \(arguments[0]): \(String(decoding: text, as: UTF8.self))")
    }
}

/// The server of tls-server.py as a child process.
private final class TLSServer {
    private let process = Process()
    private let output = Pipe()
    private(set) var port = 0
    /// The printed lines that no test has read yet.
    private var pending: [String] = []
    private var torn = ""

    init(_ certificate: String, _ options: [String] = []) throws {
        let folder = Certificates.shared.folder
        let script = Project.root + "/Tests/HTTPAdapterTests/tls-server.py"
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", script, folder.path(certificate + ".pem"), folder.path(certificate + ".key")] + options
        process.standardOutput = output
        try process.run()
        let first = line()
        port = try #require(first.hasPrefix("port ") ? Int(first.dropFirst(5)) : nil)
    }

    deinit {
        // The threads of the test runner block other signals, and a child inherits that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    var url: String { "https://127.0.0.1:\(port)/in" }

    func line() -> String {
        while pending.isEmpty {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { return "" }
            var lines = (torn + String(decoding: data, as: UTF8.self)).split(separator: "\n", omittingEmptySubsequences: false).map(
                String.init)
            torn = lines.removeLast()
            pending += lines
        }
        return pending.removeFirst()
    }
}

@Suite("http: TLS and HTTP/2")
struct TLSTests {
    private let ca = "\"tls\": {\"ca\": \"\(Certificates.shared.ca)\"}"

    @Test("a server with a certificate from the configured authority is trusted")
    func good() throws {
        let server = try TLSServer("good")
        #expect(try Instance(url: server.url, ca).deliver().name == "delivered")
        #expect(server.line() == "request http/1.1 connection 1 TLSv1.3")
    }

    @Test("without a configured authority, a certificate that the system does not know is refused")
    func systemAuthorities() throws {
        let server = try TLSServer("good")
        let ending = try Instance(url: server.url).deliver()
        #expect(ending.name == "retry" && ending.message.hasPrefix("no trusted TLS with https://127.0.0.1:\(server.port): "))
    }

    @Test(
        "a server with an invalid certificate gets nothing, and is tried again",
        arguments: [("wrong", "127.0.0.1"), ("expired", "expired"), ("unknown", "issuer")])
    func untrusted(certificate: String, word: String) throws {
        let server = try TLSServer(certificate)
        let ending = try Instance(url: server.url, ca).deliver()
        #expect(ending.name == "retry" && ending.message.contains(word), "\(ending)")
        #expect(server.line() == "connection 1 ended without a request")
    }

    @Test("a server that supports only a TLS version below the minimum is refused")
    func oldVersion() throws {
        let server = try TLSServer("good", ["--newest", "1.2"])
        let ending = try Instance(url: server.url, "\"tls\": {\"ca\": \"\(Certificates.shared.ca)\", \"minimum\": \"1.3\"}").deliver()
        #expect(ending.name == "retry" && ending.message.hasPrefix("no trusted TLS"), "\(ending)")
        #expect(server.line() == "connection 1 ended without a request")
        #expect(try Instance(url: server.url, ca).deliver().name == "delivered")
        #expect(server.line() == "request http/1.1 connection 2 TLSv1.2")
    }

    @Test("a client certificate is presented to a server that asks for one")
    func clientCertificate() throws {
        let folder = Certificates.shared.folder
        let server = try TLSServer("good", ["--client-ca", Certificates.shared.ca])
        let tls =
            #""tls": {"ca": "\#(folder.path("ca.pem"))", "certificate": "\#(folder.path("client.pem"))", "key": "\#(folder.path("client.key"))"}"#
        #expect(try Instance(url: server.url, tls).deliver().name == "delivered")
        // In TLS 1.3 the server asks for the certificate after the client has started to send. So the client does not know if the events
        // were taken.
        let without = try Instance(url: server.url, ca).deliver()
        #expect(without.name == "unknown" || without.name == "retry")
    }

    @Test("a client certificate that cannot be used is a fault")
    func brokenCertificate() throws {
        let folder = Certificates.shared.folder
        let server = try TLSServer("good")
        let tls = #""tls": {"ca": "\#(folder.path("ca.pem"))", "certificate": "\#(folder.path("ca.conf"))"}"#
        let ending = try Instance(url: server.url, tls).deliver()
        #expect(ending.name == "fault" && ending.message.hasPrefix("a file of tls cannot be used"), "\(ending)")
    }

    @Test("a server without TLS at an https url is tried again")
    func plain() throws {
        let server = Server { _, connection in connection.answer("400 Bad Request") }
        defer { server.close() }
        let ending = try Instance(url: "https://127.0.0.1:\(server.port)", ca).deliver()
        #expect(ending.name == "retry", "\(ending)")
    }

    @Test("HTTP/2 is used if it is offered, with all requests on one connection")
    func http2() throws {
        let server = try TLSServer("good", ["--h2"])
        let instance = try Instance(url: server.url, ca + #", "body": "event""#)
        #expect(instance.deliver((0..<20).map { "{\"n\":\($0)}" }).name == "delivered")
        let lines = (0..<20).map { _ in server.line() }
        #expect(lines.allSatisfy { $0.hasPrefix("request h2 connection 1 stream") }, "\(lines)")
    }

    @Test("a large body is delivered over HTTP/2")
    func http2Large() throws {
        let server = try TLSServer("good", ["--h2"])
        let large = (0..<100).map { "{\"n\":\($0),\"pad\":\"\(String(repeating: "x", count: 20_000))\"}" }
        #expect(try Instance(url: server.url, ca).deliver(large).name == "delivered")
    }

    @Test("over HTTP/2 too, a 2xx before the end of the body is unknown", arguments: ["head", "and-end"])
    func http2Early(way: String) throws {
        let server = try TLSServer("good", ["--early", way])
        let large = (0..<100).map { "{\"n\":\($0),\"pad\":\"\(String(repeating: "x", count: 20_000))\"}" }
        let ending = try Instance(url: server.url, ca).deliver(large)
        #expect(ending.name == "unknown" && ending.code == 200, "\(ending)")
        #expect(ending.message.contains("answered 200 before it was sent the whole body"), "\(ending)")
    }

    @Test("after a GOAWAY that includes the request, the next request uses a new connection")
    func goAwayAfter() throws {
        let server = try TLSServer("good", ["--goaway", "after"])
        let instance = try Instance(url: server.url, ca)
        #expect(instance.deliver().name == "delivered")
        #expect(server.line() == "request h2 connection 1 stream 1")
        // The answer can arrive before the GOAWAY. Then the next request would go to the old connection, which no longer accepts requests.
        #expect(server.line() == "connection 1 ended")
        #expect(instance.deliver().name == "delivered")
        #expect(server.line() == "request h2 connection 2 stream 1")
    }

    @Test("after a GOAWAY that excludes the request, libcurl or the router sends it again")
    func goAwayBefore() throws {
        let server = try TLSServer("good", ["--goaway", "before"])
        let instance = try Instance(url: server.url, ca)
        let first = instance.deliver()
        #expect(["delivered", "retry", "unknown"].contains(first.name), "\(first)")
        if first.name != "delivered" { #expect(instance.deliver().name == "delivered") }
        #expect(server.line() == "request h2 connection 1 stream 1")
    }
}
