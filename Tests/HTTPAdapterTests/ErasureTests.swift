// The provider `http` asks its server to erase people: what it sends, and how a call goes on after each answer.

import HTTPSupport
import PluginKit
import Testing

@testable import HTTP

private let delete = #"""
    "erase":{"method":"DELETE","path":"'/users/' + id","answers":[{"where":"status in [204, 404]","outcome":"confirmed"}]}
    """#
private let three = ["u1", "u2", "u3"].map { Erasure.Subject(member: "userId", id: $0) }

@Suite("http: erasure")
struct ErasureTests {
    /// Asks a server that answers each request by its path, and returns the end of the call and the lines of the requests.
    private func erase(
        _ more: String, _ subjects: [Erasure.Subject] = three, state: String = "", attempt: UInt32 = 1, url path: String = "",
        _ answer: @escaping @Sendable (String) -> (status: String, body: String, headers: String)
    ) throws -> (Erased, [String]) {
        let server = Server.answering { request, connection in
            let (status, body, headers) = answer(request.line)
            // 204 has no body.
            if status.hasPrefix("204") {
                connection.send("HTTP/1.1 \(status)\r\n\r\n")
            } else {
                connection.answer(status, body, headers: headers)
            }
        }
        defer { server.close() }
        let erased = try Instance(url: server.url + path, more).erase(subjects, state: state, attempt: attempt)
        let lines = server.requests.map { $0.line.replacing(" HTTP/1.1", with: "") + ($0.body.isEmpty ? "" : " \($0.text)") }
        return (erased, lines)
    }

    @Test("each id has a request of its own, and is confirmed by itself")
    func each() throws {
        let (erased, lines) = try erase(delete) { $0.contains("u2") ? ("404 None", "", "") : ("204 Gone", "", "") }
        #expect(erased == Erased(outcome: "delivered 0: ", state: ""))
        #expect(lines == ["DELETE /in/users/u1", "DELETE /in/users/u2", "DELETE /in/users/u3"])
    }

    @Test("the query of the URL stays, and the headers are those of the events unless there are others")
    func place() throws {
        let server = Server.answering("204 Gone")
        defer { server.close() }
        let auth = #""headers":{"Authorization":"Bearer t0ps3cret"}"#
        let query = #""erase":{"path":"'/users?id=' + id","body":"{'id': id}","answers":[{"outcome":"confirmed"}]}"#
        func asked(_ url: String, _ more: String) throws -> Request {
            let count = server.requests.count
            _ = try Instance(url: url, more).erase([three[0]])
            return server.requests[count]
        }
        let plain = try asked(server.url + "/?key=k3y", auth + "," + query)
        #expect(plain.line == "POST /in/users?id=u1&key=k3y HTTP/1.1" && plain.text == #"{"id":"u1"}"#)
        #expect(plain.headers["authorization"] == "Bearer t0ps3cret" && plain.headers["content-type"] == "application/json")
        // Another server gets no key that is for the first one.
        let other = query.replacing(#""erase":{"#, with: #""erase":{"url":"\#(server.url)","#)
        #expect(try asked("http://127.0.0.1:1", auth + "," + other).headers["authorization"] == nil)
        let own = query.replacing(#""erase":{"#, with: #""erase":{"url":"\#(server.url)","headers":{"X-Key":"own-k3y"},"#)
        let mine = try asked("http://127.0.0.1:1", auth + "," + own)
        #expect(mine.headers["x-key"] == "own-k3y" && mine.headers["authorization"] == nil)
    }

    @Test("a server that is busy or broken ends the call, what is confirmed stays, and the next call begins with another id")
    func busy() throws {
        for status in ["429 Slow", "500 Oops", "401 No", "302 There", "405 What"] {
            let (erased, lines) = try erase(delete) { $0.contains("u2") ? (status, "", "") : ("204 Gone", "", "") }
            #expect(erased.own == [0: "delivered"] && lines.count == 2, "\(erased)")
            #expect(["retry", "fault"].contains(String(erased.outcome.prefix { $0 != " " })))
        }
        let (second, lines) = try erase(delete, attempt: 3) { $0.contains("u2") ? ("500 Oops", "", "") : ("204 Gone", "", "") }
        #expect(second.own == [0: "delivered", 2: "delivered"] && lines.map { $0.suffix(2) } == ["u3", "u1", "u2"])
        let (pause, _) = try erase(delete) { _ in ("429 Slow", "", "Retry-After: 9\r\n") }
        #expect(pause.outcome.hasPrefix("retry 9000: ") && pause.own == [:])
    }

    @Test("an id that the server refuses is left to a person, and the others are asked for")
    func refused() throws {
        let subjects = [three[0], Erasure.Subject(member: "userId", id: ".."), three[2]]
        let (erased, lines) = try erase(delete, subjects) { $0.contains("u1") ? ("422 No", "we keep u1", "") : ("204 Gone", "", "") }
        #expect(erased.own == [0: "rejected", 1: "rejected", 2: "delivered"] && erased.outcome == "delivered 0: ")
        #expect(lines == ["DELETE /in/users/u1", "DELETE /in/users/u3"])
    }

    @Test("a success that no rule knows confirms nothing")
    func falseSuccess() throws {
        let (erased, lines) = try erase(delete) { _ in ("200 OK", #"{"error":"no such route"}"#, "") }
        #expect(erased.outcome.hasPrefix("unknown 0: ") && erased.own == [:] && lines.count == 3)
    }

    @Test("a redirect is not followed, and confirms nothing even if a rule says so")
    func redirect() throws {
        let any = #""erase":{"path":"'/' + id","answers":[{"outcome":"confirmed"}]}"#
        let (erased, lines) = try erase(any, [three[0]]) { _ in ("302 There", "", "Location: /in/gone\r\n") }
        #expect(erased.outcome.hasPrefix("unknown 0: ") && lines == ["POST /in/u1"])
    }

    @Test("a server that never answers, or that is not there, confirms nothing, and no event waits for it")
    func never() throws {
        let server = Server { server, connection in
            while let request = connection.request() {
                server.note(request)
                if request.line.contains("/users/") { return connection.stall() }
                connection.answer("200 OK")
            }
        }
        defer { server.close() }
        let instance = try Instance(url: server.url, delete)
        let erased = instance.erase(three, deadline: 40)
        #expect(!erased.outcome.hasPrefix("delivered") && erased.own == [:])
        #expect(instance.deliver().name == "delivered")
        #expect(try Instance(url: "http://127.0.0.1:\(closedPort())", delete).erase(three).outcome.hasPrefix("retry 0: cannot reach"))
    }

    @Test("a lost connection confirms nothing")
    func lost() throws {
        let server = Server { server, connection in
            guard connection.request() != nil else { return }
            connection.send("HTTP/1.1 204 ")
        }
        defer { server.close() }
        let erased = try Instance(url: server.url, delete).erase([three[0]])
        #expect(erased.own == [:] && erased.outcome.contains("was lost"), "\(erased)")
    }

    private let jobs = #"""
        "erase":{"path":"'/users/' + id","poll":{"path":"'/jobs/' + state"},"answers":[
          {"where":"status == 202","outcome":"again","state":"body.job"},
          {"where":"status == 404 && state != ''","outcome":"again","state":"''","reason":"'the job is lost'"},
          {"where":"state != '' && body.done","outcome":"confirmed"},{"where":"state != '' && !body.done","outcome":"again"}]}
        """#

    @Test("the job of each id is kept, asked about until it is done, and begun anew if the server has lost it")
    func polls() throws {
        let (begun, lines) = try erase(jobs) { ("202 Soon", #"{"job":"j-\#($0.dropLast(9).suffix(2))"}"#, "") }
        #expect(begun.outcome.hasPrefix("retry 0: ") && begun.own == [:])
        #expect(lines == ["POST /in/users/u1", "POST /in/users/u2", "POST /in/users/u3"])
        let (asked, polled) = try erase(jobs, state: begun.state) {
            $0.contains("j-u1")
                ? ("200 OK", #"{"done":true}"#, "") : $0.contains("j-u2") ? ("404 Lost", "", "") : ("200 OK", #"{"done":false}"#, "")
        }
        #expect(polled == ["GET /in/jobs/j-u1", "GET /in/jobs/j-u2", "GET /in/jobs/j-u3"])
        #expect(asked.own == [0: "delivered"] && asked.outcome == "retry 0: \(asked.outcome.dropFirst(9))")
        // The router names what is not confirmed.
        let (_, again) = try erase(jobs, Array(three[1...]), state: asked.state) { _ in ("202 Soon", #"{"job":"new"}"#, "") }
        #expect(again == ["POST /in/users/u2", "GET /in/jobs/j-u3"])
    }

    @Test("only as many jobs are begun as their numbers can be kept")
    func room() throws {
        let many = (0..<60).map { Erasure.Subject(member: "userId", id: "person-\($0)-" + String(repeating: "x", count: 200)) }
        let number = String(repeating: "9", count: 200)
        let (begun, lines) = try erase(jobs, many) { _ in ("202 Soon", #"{"job":"\#(number)"}"#, "") }
        #expect(begun.state.utf8.count <= Erasure.mostState && begun.outcome.hasPrefix("retry 0: "))
        #expect(lines.count > 5 && lines.count < 60)
        // The others are begun when these are confirmed.
        let (_, next) = try erase(jobs, Array(many.dropFirst(lines.count)), state: begun.state) { _ in ("202 Soon", #"{"job":"1"}"#, "") }
        #expect(next.first == "POST /in/users/person-\(lines.count)-" + String(repeating: "x", count: 200))
    }

    @Test("one request for all ids is judged for each of them, and its state is that of the job")
    func together() throws {
        let erase = #"""
            "erase":{"together":true,"path":"state == '' ? '/gone' : '/gone/' + state","body":"{'ids': subjects.map(s, s.id)}","answers":[
              {"where":"has(body.job)","outcome":"again","state":"body.job"},
              {"where":"id in body.gone","outcome":"confirmed"},{"where":"id in body.kept","outcome":"by_hand"}]}
            """#
        let (begun, lines) = try self.erase(erase) { _ in ("200 OK", #"{"job":7}"#, "") }
        #expect(begun.outcome.hasPrefix("retry 0: ") && begun.state == "7" && lines == [#"POST /in/gone {"ids":["u1","u2","u3"]}"#])
        let (done, _) = try self.erase(erase, state: "7") { _ in ("200 OK", #"{"gone":["u1","other"],"kept":["u2"]}"#, "") }
        #expect(done.own == [0: "delivered", 1: "rejected"] && done.outcome.hasPrefix("unknown 0: ") && done.state == "7")
    }

    @Test("without the setting a person erases, and nothing is asked")
    func unset() throws {
        let (erased, lines) = try erase("") { _ in ("204 Gone", "", "") }
        #expect(erased.outcome.hasPrefix("rejected 0: Erase the ids at the service behind url") && lines == [])
    }

    @Test("no message holds an id or a secret that the server repeats")
    func echo() throws {
        let person = Erasure.Subject(member: "userId", id: "person seven")
        let echo = #""headers":{"X-Key":"s3cret-key"},"# + delete
        for status in ["400 No", "401 No", "404 No"] {
            let rules = echo.replacing("204, 404", with: "204")
            let (erased, _) = try erase(rules, [person]) { line in (status, "s3cret-key cannot erase person seven at \(line)", "") }
            #expect(!erased.outcome.contains("person") && !erased.outcome.contains("s3cret"), "\(erased)")
            #expect(!erased.outcome.contains("%20seven"))
        }
    }

    @Test("an address with a user is refused, and so is one with a part that is never sent")
    func wrongAddress() {
        for url in ["https://u:p@x.example", "https://x.example/#a"] {
            let erase = delete.replacing(#""erase":{"#, with: #""erase":{"url":"\#(url)","#)
            #expect(refusal(#"{"url":"https://x.example",\#(erase)}"#).hasPrefix("erase.url "))
        }
    }
}
