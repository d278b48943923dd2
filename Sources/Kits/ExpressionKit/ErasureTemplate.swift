// The setting `erase`: the requests by which a server is asked to erase people, and what its answers mean. No id can end the path that it is
// put into, lead to another one, or break out of a text of the body. A template that would send the same request for everybody is refused.

internal import Expressions
package import HTTPKit
public import PluginKit

public struct ErasureTemplate: Sendable {
    /// How one request is made.
    struct Ask: Sendable {
        var method: Target.Method
        var path: Expression?
        var body: Expression?
    }

    /// A request without its origin.
    package struct Request: Equatable {
        package var method: Target.Method
        /// What follows the URL, and the query that is added to the one of the URL.
        package var path: String
        package var query: String
        package var body: [UInt8]
    }

    /// Why there is no request for somebody.
    package enum Refusal: Error, Equatable {
        /// The template is wrong.
        case fault(String)
        /// The template is not for this id, so a person must act.
        case byHand(String)
    }

    /// The longest state of a job, which is put into a request.
    package static let longestState = 200

    private static let names: KeyValuePairs<String, Schema.Variable> = [
        "id": .text, "member": .text, "subjects": .any, "state": .text,
    ]
    private static let methods = [Target.Method.post, .delete, .put, .patch]

    private static let path = Schema.expression(
        "what follows the path of the URL, in CEL on 'member', 'id', 'subjects' and 'state', all percent-encoded, such as \"'/users/' + id\"",
        names: names)
    private static let body = Schema.expression(
        "the body, in CEL on 'member', 'id', 'subjects' and 'state', as JSON; none when left out", names: names)

    public static let schema = Schema.object(
        "how the server is asked to erase people; without it a person erases there",
        [
            "url": .text("where it is asked; that of 'url' when left out"),
            "headers": .object(
                "headers of these requests; those of 'headers' when left out, unless there is a 'url' of its own; their values are never shown",
                [:], others: .text("the value, one line").secret),
            "method": .choice("the method of the requests", of: methods.map(\.rawValue), default: "POST"),
            "path": path,
            "body": body,
            "together": .flag(
                "true if one request is for all people of a job, whom 'subjects' lists, each with 'member' and 'id'; false if each 'id' has "
                    + "a request of its own", default: false),
            "answers": ErasureAnswers.schema.required,
            "poll": .object(
                "how the server is asked what became of a job whose 'state' an answer gave; the first request is repeated when left out",
                [
                    "method": .choice("the method of the requests", of: ["GET"] + methods.map(\.rawValue), default: "GET"),
                    "path": path,
                    "body": body,
                ]),
        ])

    /// True if one request is for all subjects of a job.
    public let isTogether: Bool
    package let answers: ErasureAnswers
    private let first: Ask
    private let poll: Ask?
    private let constants: [String: Value]

    /// Reads the value of `erase` from all settings. Returns nil if there is none.
    public static func read(_ settings: Settings) throws(SettingsFault) -> ErasureTemplate? {
        guard let given = settings.get("erase", as: Settings.self) else { return nil }
        return try ErasureTemplate(given, ExpressionReader(settings))
    }

    private init(_ given: Settings, _ reader: ExpressionReader) throws(SettingsFault) {
        isTogether = given.get("together") ?? false
        constants = reader.variables
        let names: KeyValuePairs<String, Schema.Variable> =
            isTogether ? ["subjects": .any, "state": .text] : ["id": .text, "member": .text, "state": .text]
        first = Ask(
            method: given.get("method") ?? .post, path: try reader.expression(given, "path", in: "erase", names: names),
            body: try reader.expression(given, "body", in: "erase", names: names))
        poll = try given.get("poll", as: Settings.self).map { (given) throws(SettingsFault) in
            Ask(
                method: given.get("method") ?? .get, path: try reader.expression(given, "path", in: "erase.poll", names: names),
                body: try reader.expression(given, "body", in: "erase.poll", names: names))
        }
        answers = try ErasureAnswers(given, reader)
        guard poll == nil || answers.giveStates else {
            throw SettingsFault("erase.poll is never used, since no rule of erase.answers has a 'state'")
        }
        // What is sent for everybody could erase everybody, and its answer would hold for everybody.
        let name = isTogether ? "subjects" : "id"
        guard !isSame(("one", ""), ("two", "")) else {
            throw SettingsFault("erase.path and erase.body name nobody, so every request would be the same; use '\(name)' in one of them")
        }
        guard poll == nil || !isSame(("one", "1"), ("two", "2")) else {
            throw SettingsFault(
                "erase.poll.path and erase.poll.body name no job and nobody, so every request would be the same; use 'state' or '\(name)' in "
                    + "one of them")
        }
    }

    /// True if these ids, with these states of their jobs, have the same request.
    private func isSame(_ one: (id: String, state: String), _ other: (id: String, state: String)) -> Bool {
        func made(_ job: (id: String, state: String)) -> Request? {
            try? request(for: [.init(member: "userId", id: job.id)], state: job.state).get()
        }
        guard let one = made(one), let other = made(other) else { return false }
        return one == other
    }

    /// Makes the request for these subjects. It is only one unless the template is for all of them. The state is what an earlier answer gave.
    package func request(for subjects: [Erasure.Subject], state: String) -> Result<Request, Refusal> {
        precondition(isTogether || subjects.count == 1, "a request of one subject is made for several")
        guard subjects.allSatisfy({ !$0.id.isEmpty }) else { return .failure(.byHand("an id is empty")) }
        let (ask, place) = state.isEmpty || poll == nil ? (first, "erase") : (poll ?? first, "erase.poll")
        return Result { () throws(Refusal) in
            var request = Request(method: ask.method, path: "", query: "", body: [])
            if let path = ask.path {
                let value = try value(path, variables(subjects, state) { percentEncoded($0) }, "\(place).path")
                guard case .string(let text) = value else { throw .fault("\(place).path gives no text") }
                (request.path, request.query) = try ErasureTemplate.split(text.bytes, "\(place).path")
            }
            if let body = ask.body {
                let value = try value(body, variables(subjects, state) { $0 }, "\(place).body")
                guard let json = value.json else { throw .fault("\(place).body gives a value that is nested too deep") }
                request.body = Array(json.utf8)
            }
            return request
        }
    }

    /// The names that expressions can use. `encoded` is applied to every text that comes from outside.
    private func variables(_ subjects: [Erasure.Subject], _ state: String, _ encoded: (String) -> String) -> [String: Value] {
        func text(_ text: String) -> Value { .string(TextValue(encoded(text))) }
        var variables = constants
        variables["state"] = text(state)
        if isTogether {
            let list = subjects.map { subject -> Value in
                .map(
                    .entries([
                        MapEntry(key: .string(TextValue("member")), value: text(subject.member)),
                        MapEntry(key: .string(TextValue("id")), value: text(subject.id)),
                    ]))
            }
            variables["subjects"] = .list(.values(list))
        } else {
            variables["member"] = text(subjects[0].member)
            variables["id"] = text(subjects[0].id)
        }
        return variables
    }

    private func value(_ expression: Expression, _ variables: [String: Value], _ place: String) throws(Refusal) -> Value {
        switch expression.value(of: variables) {
        case .success(let value): return value
        case .failure(let fault): throw .fault("\(place): \(fault)")
        }
    }

    /// Returns the path and the query of what an expression gave, in which ids are encoded already.
    private static func split(_ text: [UInt8], _ place: String) throws(Refusal) -> (path: String, query: String) {
        guard text.first.map({ $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) ?? true else {
            throw .fault("\(place) gives a path that begins neither with '/' nor with '?'")
        }
        var encoded: [UInt8] = []
        for byte in text {
            let stays = RequestPath.allowed[Int(byte)] || byte == UInt8(ascii: "%") || byte == UInt8(ascii: "?")
            if stays { encoded.append(byte) } else { encoded += Array("%".utf8) + RequestPath.hex(byte) }
        }
        guard encoded.count <= BodyRules.longestPath else {
            throw .byHand("the path of the request would have more than \(BodyRules.longestPath) bytes")
        }
        let parts = String(decoding: encoded, as: UTF8.self).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        // Many servers decode a path before they look for steps up in it.
        let steps = [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"]
        guard !parts[0].split(separator: "/").contains(where: { steps.contains($0.lowercased()) }) else {
            throw .byHand("the id would be a step in the path of the request")
        }
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
}
