// The setting `erase` of http: the requests that it makes of subjects, and what answers mean for them.

import PluginKit
import Testing

@testable import ExpressionKit
@testable import HTTPKit

private let user = Erasure.Subject(member: "userId", id: "u1")
private let device = Erasure.Subject(member: "anonymousId", id: "d1")
private let confirms = #""answers":[{"where":"status == 204","outcome":"confirmed"}]"#

private func template(_ erase: String, constants: String = "{}") throws -> ErasureTemplate {
    let settings = try Settings(json: #"{"erase":{\#(erase)},"constants":\#(constants)}"#)
    return try ErasureTemplate.read(settings)!
}

private func refusal(ofErase erase: String) -> String {
    do {
        _ = try template(erase)
        return "accepted"
    } catch {
        return "\(error)"
    }
}

/// Returns a request in one line: the method, the path with its query, and the body.
private func made(_ template: ErasureTemplate, _ subjects: [Erasure.Subject], state: String = "") -> String {
    switch template.request(for: subjects, state: state) {
    case .success(let request):
        "\(request.method.rawValue) \(request.path)" + (request.query.isEmpty ? "" : "?\(request.query)")
            + (request.body.isEmpty ? "" : " " + String(decoding: request.body, as: UTF8.self))
    case .failure(.fault(let words)): "fault \(words)"
    case .failure(.byHand(let words)): "by hand: \(words)"
    }
}

@Suite("The requests of an erasure by expressions")
struct ErasureRequestTests {
    @Test("one id is put into the path, encoded, and into the body, as a text of JSON")
    func one() throws {
        let erase = try template(
            #""method":"DELETE","path":"'/users/' + id + '?by=' + member","body":"{'user': id, 'key': constants.key}",\#(confirms)"#,
            constants: #"{"key":"k"}"#)
        #expect(made(erase, [user]) == #"DELETE /users/u1?by=userId {"user":"u1","key":"k"}"#)
        #expect(
            made(erase, [.init(member: "traits.email", id: #"a/b?c#d%2F é"\"#)])
                == #"DELETE /users/a%2Fb%3Fc%23d%252F%20%C3%A9%22%5C?by=traits.email {"user":"a/b?c#d%2F é\"\\","key":"k"}"#)
    }

    @Test("all ids are put into one request, if it is for all of them")
    func together() throws {
        let erase = try template(
            #""together":true,"path":"'/gone/' + subjects.map(s, s.id).join(',')","body":"{'ids': subjects.map(s, s.id), 'all': subjects}",\#(confirms)"#
        )
        #expect(
            made(erase, [user, .init(member: "userId", id: "a,b")])
                == #"POST /gone/u1,a%2Cb {"ids":["u1","a,b"],"all":[{"member":"userId","id":"u1"},{"member":"userId","id":"a,b"}]}"#)
    }

    @Test("with a state the job is asked about, and the state is encoded like an id")
    func poll() throws {
        let answers =
            #""answers":[{"where":"status == 202","outcome":"again","state":"body.job"},{"where":"body.done","outcome":"confirmed"}]"#
        let erase = try template(#""path":"'/u/' + id","poll":{"path":"'/jobs/' + state"},\#(answers)"#)
        #expect(made(erase, [user]) == "POST /u/u1")
        #expect(made(erase, [user], state: "7/x") == "GET /jobs/7%2Fx")
        let simple = try template(#""path":"'/u/' + id + state",\#(confirms)"#)
        #expect(made(simple, [user], state: "7") == "POST /u/u17")
    }

    @Test(
        "an id that would be a step in the path is left to a person",
        arguments: [(".", "/u/"), ("..", "/u/"), ("..", ""), ("%2e", "/u/%2E"), ("", "/u/")])
    func steps(id: String, before: String) throws {
        let erase = try template(#""path":"'\#(before.isEmpty ? "/" : before)' + id",\#(confirms)"#)
        let said = made(erase, [.init(member: "userId", id: id)])
        if id == "%2e" { #expect(said == "POST /u/%2E%252e") } else { #expect(said.hasPrefix("by hand: "), "\(said)") }
    }

    @Test("a path that is too long is left to a person, and one that is none is a fault of the template")
    func wrongPaths() throws {
        let erase = try template(#""path":"'/u/' + id",\#(confirms)"#)
        let long = Erasure.Subject(member: "userId", id: String(repeating: "x", count: 5000))
        #expect(made(erase, [long]).hasPrefix("by hand: the path of the request would have more than 4096 bytes"))
        #expect(
            made(try template(#""path":"id",\#(confirms)"#), [user])
                == "fault erase.path gives a path that begins neither with '/' nor with '?'")
        #expect(made(try template(#""path":"'/' + string(int(id))",\#(confirms)"#), [user]).hasPrefix("fault erase.path: "))
        #expect(made(try template(#""path":"[id]",\#(confirms)"#), [user]) == "fault erase.path gives no text")
    }

    @Test(
        "a template is refused that names nobody, that can never end, or whose rules cannot be reached",
        arguments: [
            (#""path":"'/users'",\#(confirms)"#, "erase.path and erase.body name nobody, so every request would be the same; use 'id'"),
            (
                #""together":true,"body":"{'n': size(subjects)}",\#(confirms)"#,
                "erase.path and erase.body name nobody, so every request would be the same; use 'subjects'"
            ),
            (confirms, "erase.path and erase.body name nobody"),
            (#""path":"'/' + id","answers":[]"#, "erase.answers has no rule with the outcome 'confirmed'"),
            (#""path":"'/' + id","answers":[{"outcome":"again"}]"#, "erase.answers has no rule with the outcome 'confirmed'"),
            (
                #""path":"'/' + id","answers":[{"outcome":"confirmed"},{"where":"true","outcome":"again"}]"#,
                "erase.answers[0] has no 'where', so the rules after it are never asked"
            ),
            (
                #""path":"'/' + id","poll":{"method":"DELETE","path":"'/jobs'"},"answers":[{"outcome":"confirmed","state":"body.job"}]"#,
                "erase.poll.path and erase.poll.body name no job and nobody"
            ),
            (#""path":"'/' + id","poll":{},\#(confirms)"#, "erase.poll is never used, since no rule of erase.answers has a 'state'"),
            (#""together":true,"path":"'/' + id",\#(confirms)"#, "erase.path, column "),
            (#""path":"'/' + subjects[0].id",\#(confirms)"#, "erase.path, column "),
        ])
    func refused(erase: String, words: String) {
        let said = refusal(ofErase: erase)
        #expect(said.hasPrefix(words), "\(said)")
    }
}

@Suite("The answers to an erasure by expressions")
struct ErasureAnswerTests {
    /// Judges an answer for u1 and d1, and returns what it means for each.
    private func judge(
        _ rules: String, status: Int = 200, _ body: String = "", state: String = "", isCut: Bool = false, retryAfter: UInt64? = nil
    ) throws -> [String] {
        let template = try template(#""path":"'/' + id","answers":\#(rules)"#)
        let reply = Reply(
            status: status, body: Array(body.utf8), headers: [("x-job", Array("9".utf8))], isCut: isCut, retryAfter: retryAfter)
        let standard: Outcome =
            switch status {
            case 200..<300: .delivered
            case 400: .rejected(code: 400, "standard")
            case 429, 500...: .retry(code: status, "standard")
            default: .fault(code: status, "standard")
            }
        return template.answers.judge(
            reply, to: [user, device], state: state, standard: standard, origin: "https://x", hiding: Secrets(["s3cret"])
        ).map { words($0.outcome) + ($0.state.map { " state \($0)" } ?? "") + ($0.isOfSubject ? "" : " (server)") }
    }

    @Test("only a rule confirms: a success that no rule knows, or that only says it was accepted, does not")
    func confirmed() throws {
        let rules = #"[{"where":"status == 204 || status == 404","outcome":"confirmed"}]"#
        #expect(try judge(rules, status: 204) == ["delivered", "delivered"])
        #expect(try judge(rules, status: 404) == ["delivered", "delivered"])
        let unknown = "unknown 200 https://x answered 200, and no rule of erase.answers says what that means"
        #expect(try judge(rules, status: 200) == [unknown, unknown])
        #expect(try judge(rules, status: 429) == ["retry 429 standard (server)", "retry 429 standard (server)"])
        #expect(try judge(rules, status: 401)[0] == "fault 401 standard (server)")
        #expect(try judge(rules, status: 400)[0] == "rejected 400 standard")
    }

    @Test("no rule makes a redirect, a refusal or a failure a confirmation", arguments: [301, 302, 307, 400, 401, 403, 429, 500, 503])
    func neverConfirmed(status: Int) throws {
        let words = "unknown \(status) https://x answered \(status), and such an answer confirms no erasure, whatever erase.answers says"
        #expect(try judge(#"[{"outcome":"confirmed"}]"#, status: status) == [words, words])
    }

    @Test("a rule is asked for each subject, so an answer about other ids confirms nobody")
    func subjects() throws {
        let rules = #"""
            [{"where":"id in body.gone","outcome":"confirmed"},
             {"where":"has(body.kept) && id in body.kept","outcome":"by_hand","reason":"body.why + ' s3cret'"},
             {"outcome":"again","reason":"'wait'"}]
            """#
        #expect(
            try judge(rules, #"{"gone":["u1"],"kept":["d1"],"why":"legal hold"}"#) == [
                "delivered", "rejected 200 https://x answered 200: legal hold ***",
            ])
        #expect(
            try judge(rules, #"{"gone":["u2","U1","u1 "]}"#) == [
                "retry 200 https://x answered 200: wait", "retry 200 https://x answered 200: wait",
            ])
        #expect(try judge(rules, #"{"gone":"u1"}"#)[0].hasPrefix("unknown 200 https://x answered 200, but the answer cannot be evaluated"))
    }

    @Test("an answer that cannot be evaluated, or is too long, confirms nothing", arguments: ["", "[]", "done", "{", #"{"done":"yes"}"#])
    func unread(body: String) throws {
        let rules = #"[{"where":"body.done","outcome":"confirmed"}]"#
        #expect(
            try judge(rules, body)[0].hasPrefix(
                "unknown 200 https://x answered 200, but the answer cannot be evaluated: erase.answers[0].where"))
        #expect(try judge(rules, status: 500, body)[0] == "retry 500 standard")
        #expect(
            try judge(rules, #"{"done":true}"#, isCut: true)[0].hasPrefix("unknown 200 https://x answered 200, but the answer is too long"))
        #expect(try judge(rules, #"{"done":true}"#)[0] == "delivered")
    }

    @Test("a rule gives the state for the next request, as text, and knows the one of the last")
    func states() throws {
        let rules = #"""
            [{"where":"state != ''","outcome":"confirmed","state":"''"},
             {"where":"has(body.job)","outcome":"again","state":"body.job"},
             {"outcome":"again","state":"headers['x-job']"}]
            """#
        #expect(try judge(rules, status: 202, #"{"job":7}"#)[0] == "retry 202 https://x answered 202 state 7")
        #expect(try judge(rules, status: 202, #"{"job":"a"}"#)[0].hasSuffix("state a"))
        #expect(try judge(rules, status: 202, "{}")[0].hasSuffix("state 9"))
        #expect(try judge(rules, state: "7")[0] == "delivered state ")
        #expect(
            try judge(rules, status: 202, #"{"job":[1]}"#)[0].contains(
                "erase.answers[1].state gives a value of the type list, and not a text"))
        let long = String(repeating: "x", count: 201)
        #expect(try judge(rules, status: 202, #"{"job":"\#(long)"}"#)[0].contains("erase.answers[1].state gives more than 200 bytes"))
    }

    @Test("a pause that the server asks for is kept, and is for all of its requests")
    func pauses() throws {
        let rules = #"[{"where":"status == 202","outcome":"again"},{"where":"status == 204","outcome":"confirmed"}]"#
        #expect(try judge(rules, status: 202, retryAfter: 7000)[0] == "retry 202 https://x answered 202 after 7000 (server)")
        #expect(try judge(rules, status: 202)[0] == "retry 202 https://x answered 202")
    }
}
