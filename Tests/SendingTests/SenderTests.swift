import Glibc
import Platform
import TestSupport
import Testing

@testable import Sending

@Suite("Sending")
struct SenderTests {
    private struct Outcome {
        var fault: SendFault?
        var counts: Sender.Counts
        var recorder: SenderRecorder
        var places: [(offset: Int, line: Int)]
    }

    private func send(_ text: String, to server: EventServer, batch: Int = 2, change: (inout LineBatches.Limits) -> Void = { _ in }) throws
        -> Outcome
    {
        let folder = Folder()
        let descriptor = folder.file("in", text)
        defer { close(descriptor) }
        let recorder = SenderRecorder()
        let sender = Sender(to: "router", by: PlainTransport(try Target(server.url), key: "k3y"), recorder.dependencies)
        var limits = LineBatches.Limits()
        limits.events = batch
        change(&limits)
        var places: [(Int, Int)] = []
        var fault: SendFault?
        do {
            try sender.send(LineBatches(descriptor, limits: limits), named: "in") { places.append(($0, $1)) }
        } catch let stopped as SendFault { fault = stopped }
        server.close()
        return Outcome(fault: fault, counts: sender.counts, recorder: recorder, places: places)
    }

    @Test("every event arrives once and in order, in batches, over one connection, with the key")
    func all() throws {
        let server = EventServer()
        let outcome = try send(text(events(0..<5)), to: server)
        #expect(server.taken == events(0..<5) && server.requests.map(\.lines.count) == [2, 2, 1])
        #expect(outcome.counts.taken == 5 && outcome.counts.bytes == 40 && outcome.recorder.said == [])
        #expect(outcome.places.map(\.offset) == [16, 32, 40] && outcome.places.map(\.line) == [2, 4, 5])
        try #require(!server.requests.isEmpty)
        #expect(server.requests[0].head.contains("POST /v1/events?results=each HTTP/1.1"))
        #expect(server.requests[0].head.contains("Authorization: Bearer k3y"))
    }

    @Test("a rejected event is reported with its line, counting blank lines, and does not affect other events")
    func rejected() throws {
        let server = EventServer(rejects: { $0 == "no" ? "not JSON" : nil })
        let outcome = try send("{\"n\":0}\n\n \r\nno\n{\"n\":1}\n", to: server, batch: 10)
        #expect(server.taken == events(0..<2) && outcome.counts.rejected == 1)
        #expect(outcome.recorder.said == ["in:4: rejected: not JSON"])
    }

    @Test("a batch with only rejected events does not stop the next one")
    func allRejected() throws {
        let server = EventServer(rejects: { $0 == "no" ? "not JSON" : nil })
        let outcome = try send("no\nno\n{\"n\":0}\n", to: server)
        #expect(outcome.fault == nil && outcome.counts.rejected == 2 && server.taken == events(0..<1))
    }

    @Test(
        "an answer that asks for a retry, or a broken connection, is followed by the same bytes",
        arguments: [
            EventServer.Act.answer("429 Too Many Requests"), .answer("503 Service Unavailable"), .answer("500 Oh"), .reset,
        ])
    func again(act: EventServer.Act) throws {
        let server = EventServer { $0 == 1 || $0 == 2 ? act : .take }
        let outcome = try send(text(events(0..<4)), to: server)
        #expect(server.taken == events(0..<4) && outcome.fault == nil)
        try #require(server.requests.count == 4)
        #expect(server.requests[1].lines == server.requests[3].lines)
        #expect(outcome.recorder.waits == [.milliseconds(250), .milliseconds(500)])
        #expect(outcome.recorder.said.count == 1)
    }

    @Test("if a positive answer is lost, the batch is sent exactly once more, with the same bytes")
    func lostAnswer() throws {
        let server = EventServer { $0 == 1 ? .takeSilently : .take }
        _ = try send(text(events(0..<6)), to: server)
        #expect(server.taken == events(0..<2) + events(2..<4) + events(2..<4) + events(4..<6))
    }

    @Test("Retry-After is respected")
    func retryAfter() throws {
        let server = EventServer { $0 == 0 ? .answer("503 Later", headers: "Retry-After: 7\r\n") : .take }
        let outcome = try send(text(events(0..<1)), to: server)
        #expect(outcome.recorder.waits == [.seconds(7)] && server.taken == events(0..<1))
    }

    @Test("gives up when the time for one batch is over, and reports it")
    func givesUp() throws {
        let server = EventServer { _ in .answer("503 Later", headers: "Retry-After: 100\r\n", body: "{\"error\":\"no room\"}") }
        let outcome = try send(text(events(0..<1)), to: server)
        #expect(outcome.fault?.message == "router answers 503, no room; given up after 4 attempts")
        #expect(outcome.recorder.waits.count == 3 && outcome.places.isEmpty)
    }

    @Test(
        "an answer that a retry cannot change ends sending",
        arguments: [
            ("401 No", "", #"{"error":"the key is not valid"}"#, "router refuses the key: 401, the key is not valid"),
            ("301 Moved", "Location: http://other/\r\n", "", "router has moved to http://other/; give that address to --to"),
            ("404 Not Found", "", "", "router answers 404"),
            ("400 Bad", "", #"{"error":"what?"}"#, "router refuses the events: 400, what?"),
            ("200 OK", "", #"{"results":[]}"#, "router reports 0 results, expected 1"),
        ])
    func refused(status: String, headers: String, body: String, message: String) throws {
        let server = EventServer { _ in .answer(status, headers: headers, body: body) }
        let outcome = try send(text(events(0..<1)), to: server)
        #expect(outcome.fault?.message == message && outcome.recorder.waits.isEmpty && outcome.counts.taken == 0)
    }

    @Test("a batch that is too large is sent in smaller requests, and an event that is too large alone is rejected alone")
    func tooLarge() throws {
        let server = EventServer { [0, 2, 4].contains($0) ? .answer("413 Large", body: #"{"error":"too large"}"#) : .take }
        // The router refuses 4 events, takes 2, refuses 2, takes 1 and refuses 1.
        let outcome = try send(text(events(0..<4)), to: server, batch: 4)
        #expect(server.taken == events(0..<3) && outcome.counts.rejected == 1)
        #expect(outcome.recorder.said == ["in:4: rejected: router answers 413, too large"])
        #expect(outcome.places.map(\.line) == [2, 3, 4])
    }

    @Test("a rejected event in the second half of a batch is reported with its own line too")
    func rejectedInHalf() throws {
        let server = EventServer({ $0 == 0 ? .answer("413 Large") : .take }, rejects: { $0 == "no" ? "not JSON" : nil })
        let outcome = try send(text(events(0..<3)) + "no\n", to: server, batch: 4)
        #expect(server.taken == events(0..<3) && outcome.recorder.said == ["in:4: rejected: not JSON"])
    }

    @Test("a line over the limit is reported and skipped, and is never in memory as a whole")
    func overlong() throws {
        let server = EventServer()
        let long = String(repeating: "x", count: 2_000_000)
        let outcome = try send("{\"n\":0}\n\(long)\n{\"n\":1}\n", to: server) { $0.line = 1000 }
        #expect(server.taken == events(0..<2))
        #expect(outcome.recorder.said == ["in:2: rejected: the line is too long"] && outcome.counts.rejected == 1)
    }

    @Test("an answer in chunks after an interim answer is read completely")
    func chunks() throws {
        var reader = AnswerReader()
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        var answer: Answer?
        for byte in Array(text.utf8) {
            #expect(answer == nil)
            answer = try reader.take([byte])
        }
        #expect(answer == Answer(status: 200, body: Array("abcde".utf8)) && reader.isKept)
    }

    @Test("a server that does not answer in HTTP is not a router, and is not tried again")
    func noHTTP() throws {
        var reader = AnswerReader()
        #expect(throws: TransportFault("does not answer in HTTP; is this the address of a router?", canPass: false)) {
            try reader.take(Array("SSH-2.0-OpenSSH\r\n\r\n\r\n".utf8)[...])
        }
    }

    @Test("the connection to a silent router is closed, and the next attempt makes a new one")
    func silent() throws {
        let gate = try WakeUp()
        let server = EventServer { number in
            guard number == 0 else { return .take }
            return .takeAfter {
                var ready = pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, -1)
            }
        }
        let transport = PlainTransport(try Target(server.url), key: nil, timeout: .milliseconds(1))
        let body = Array("{}\n".utf8)
        func post() -> Result<Answer, TransportFault> {
            body.withUnsafeBytes { bytes in Result { () throws(TransportFault) in try transport.post(bytes) } }
        }
        #expect(post() == .failure(TransportFault("did not answer for 0 s")))
        gate.raise()
        let patient = PlainTransport(try Target(server.url), key: nil)
        let answer = try body.withUnsafeBytes { bytes in Result { () throws(TransportFault) in try patient.post(bytes) } }.get()
        #expect(answer.status == 200 && server.requests.count == 2)
        server.close()
    }

    @Test("an address where no process listens is a fault that a retry may fix")
    func nobody() throws {
        let server = EventServer()
        server.close()
        let transport = PlainTransport(try Target(server.url), key: nil)
        #expect(throws: TransportFault("cannot be reached: Connection refused")) {
            try transport.post(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }
}
