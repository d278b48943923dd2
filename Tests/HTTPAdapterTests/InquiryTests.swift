import HTTPSupport
import PluginKit
import Testing

@testable import HTTP
@testable import HTTPKit

@Suite("http: previews and probes")
struct HTTPInquiryTests {
    private let events = [#"{"n":1}"#, #"{"n":2,"s":"Bearer t0ken-of-test"}"#]

    @Test(
        "a preview has the bodies as they are sent, without compression",
        arguments: [
            ("ndjson", ["{\"n\":1}\n{\"n\":2,\"s\":\"***\"}\n"], [[0, 1]]),
            ("array", [#"[{"n":1},{"n":2,"s":"***"}]"#], [[0, 1]]),
            ("event", [#"{"n":1}"#, #"{"n":2,"s":"***"}"#], [[0], [1]]),
        ])
    func bodies(form: String, bodies: [String], indices: [[Int]]) throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let headers = #""headers": {"Authorization": "Bearer t0ken-of-test", "X": "yes"}"#
        let instance = try Instance(url: server.url, #""body": "\#(form)", "compression": "zstd", "method": "PUT", \#(headers)"#)
        defer { instance.close() }
        let previewed = try #require(instance.preview(events))
        #expect(previewed.requests.map(\.body) == bodies && previewed.requests.map(\.events) == indices)
        #expect(previewed.requests[0].method == "PUT" && previewed.requests[0].url == server.url)
        #expect(previewed.requests[0].headers.contains("Content-Encoding: zstd"))
        #expect(previewed.requests[0].headers.suffix(2) == ["Authorization: ***", "X: ***"], "no value of a header is shown")
        #expect(previewed.refused.isEmpty && previewed.losses.isEmpty && instance.preview([]) == Instance.Previewed())
        #expect(server.connections == 0)
        #expect(instance.deliver(events).name == "delivered")
    }

    @Test(
        "a URL is shown without the values of its query and without parts of its path that can be keys",
        arguments: [
            ("https://h.example/a/b?key=s3cret&plain&x=", "https://h.example/a/b?key=***&***&x=***"),
            ("https://h.example/services/T0/AAAAAAAAAAAAAAAAAAAAAA1/", "https://h.example/services/T0/***/"),
            ("http://h.example:8080", "http://h.example:8080/"),
            ("https://h.example/collections-of-events", "https://h.example/collections-of-events"),
        ])
    func urls(url: String, shown: String) throws {
        let rules = try HTTPRules(Settings(json: "{\"url\": \"\(url)\"}"))
        #expect(rules.client.shown(target: 0, body: [], events: []).url == shown)
    }

    @Test("a probe asks the host alone, without credentials, and says that they cannot be checked")
    func probe() throws {
        let server = Server.answering("403 Forbidden")
        defer { server.close() }
        let instance = try Instance(url: server.url + "?k=s3cret", #""headers": {"Authorization": "Bearer t0ken"}"#)
        defer { instance.close() }
        let answer = try #require(instance.probe())
        #expect(answer.name == "reached" && answer.code == 403, "\(answer)")
        #expect(server.requests.map(\.line) == ["GET / HTTP/1.1"] && server.requests[0].headers["authorization"] == nil)
    }

    @Test("a server that is not there, and one without TLS, gives no answer")
    func failures() throws {
        let closed = try Instance(url: "http://127.0.0.1:\(closedPort())/")
        #expect(closed.probe().map { $0.name == "failed" && $0.message.hasPrefix("cannot reach http://127.0.0.1:") } ?? false)
        closed.close()
        // It answers before it has read a request, since the beginning of TLS is none.
        let server = Server { _, connection in
            connection.send("HTTP/1.1 400 No TLS Here\r\nContent-Length: 0\r\n\r\n")
            connection.linger()
        }
        let plain = try Instance(url: "https://127.0.0.1:\(server.port)/")
        #expect(plain.probe().map { $0.name == "failed" && $0.message.hasPrefix("no trusted TLS with https://127.0.0.1") } ?? false)
        plain.close()
        server.close()
    }

    @Test("a module without these protocols has neither entry in its table")
    func absent() {
        #expect(export(Plain.self).pointee.preview == nil && export(Plain.self).pointee.probe == nil)
        #expect(export(HTTPProvider.self).pointee.preview != nil && export(HTTPProvider.self).pointee.probe != nil)
    }
}

private final class Plain: Provider {
    static let description = Description(name: "plain", version: "1", summary: "For tests.")
    init(settings: Settings, host: Host) throws {}
    func deliver(_ batch: borrowing Batch) -> Outcome { .delivered }
}
