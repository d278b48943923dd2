// Tests that what a vendor's answer repeats of a batch does not reach the log.

import Admission
import Queueing
import Testing

@testable import Delivery

@Suite("What a vendor's answer repeats") struct AnswerMaskTests {
    private func batch(_ lines: String...) -> Batch { Batch(parcel(lines)) }

    private func shown(_ message: String, code: Int = 400, _ line: String) -> String {
        let answer = Answer(code: code, message)
        guard case .rejected(let masked) = AnswerMask.masked(BatchOutcome(.rejected(answer)), of: batch(line)).batch else {
            return "another"
        }
        #expect(masked.message == message)
        return masked.shown ?? masked.message
    }

    @Test("is left out, and the rest of the answer stays")
    func masked() {
        let line = #"{"type":"track","event":"Paid","userId":"u1","context":{"email":"Ann@example.com","n":4711},"name":"Ann Smith"}"#
        #expect(shown("400: no user u1, event Paid of type track", line) == "400: no user […], event Paid of type track")
        #expect(shown("invalid ann@EXAMPLE.com", line) == "invalid […]")
        #expect(shown("4711 and \"4711\" of 47110", line) == "[…] and \"[…]\" of 47110")
        #expect(shown("Ann Smith is unknown, u12 too", line) == "[…] is unknown, u12 too")
        #expect(shown("HTTP 400: bad request", line) == "HTTP 400: bad request")
        #expect(shown("", line) == "")
        #expect(shown("503 unavailable", code: 503, #"{"userId":"x","n":503}"#) == "503 unavailable")
    }

    @Test("is left out of the outcome of a single event by that event")
    func single() {
        let outcome = BatchOutcome(.delivered, events: [1: .unknown(Answer("b7 failed, a5 did not"))])
        let masked = AnswerMask.masked(outcome, of: batch(#"{"userId":"a5"}"#, #"{"userId":"b7"}"#))
        #expect(masked.batch == .delivered)
        guard case .unknown(let answer)? = masked.events[1] else {
            Issue.record("the outcome is another one")
            return
        }
        #expect(answer.shown == "[…] failed, a5 did not")
    }
}
