// What the author of a vendor adds so that subjects can be erased at the vendor: which requests ask for it, and what the answers mean. A
// round is one call by the router: the kit sends the requests of the round one after another, until the vendor's code ends it.
//
//     extension Example: ErasingVendor {
//         func erase(_ job: inout ErasureJob) -> ErasureStep {
//             if job.state.isEmpty { return .send(ErasureCall(deletions, body: "{\"users\":\(job.list(of: ["userId"]))}", tag: "begin")) }
//             return .send(ErasureCall(deletions, path: "/\(job.state)", method: .get, tag: "poll"))
//         }
//         func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep { ... }
//     }

internal import Encoding
public import HTTPKit
public import PluginKit

/// A vendor that erases the data of subjects. Conformance announces it in the module's table.
public protocol ErasingVendor: Vendor {
    /// Begins a round: returns its first request, or what the vendor cannot do. `job.state` is what the last round left there.
    func erase(_ job: inout ErasureJob) -> ErasureStep

    /// Returns what an answer means: the next request of the round, or its end. It is called only for a whole answer to a request that was
    /// sent whole; without one, the kit ends the round, and the router asks again. An answer that only says that the request was accepted
    /// confirms nothing.
    func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep
}

/// What a round does next.
public enum ErasureStep: Sendable {
    case send(ErasureCall)
    /// The vendor has confirmed that it holds nothing of the subjects any more, except of those that the job names with `settle`.
    case confirmed
    /// The vendor is at work. The router asks again after this time, or at a time of its own.
    case askAgain(String, afterMilliseconds: UInt64? = nil)
    /// The vendor cannot erase the subjects. The words say what a person must do there by hand, and hold no id.
    case cannot(String)
    /// The outcome by the status of the answer, where 2xx counts as confirmed: only for a vendor that erases at once. 429 and 5xx ask again,
    /// and 401, 403 and 404 are a fault of the configuration. In `erase` there is no answer, and it is a mistake.
    case standard
    case end(Outcome)
}

/// A request of a round.
public struct ErasureCall: Sendable {
    public var endpoint: ErasureEndpoint.ID
    /// What follows the path of the endpoint, such as `/jobs/7?limit=1`. An id in it must be `percentEncoded`.
    public var path: String
    /// The method, if it is not that of the endpoint.
    public var method: Target.Method?
    public var body: String
    /// The vendor's own word for the request, for `judge`.
    public var tag: String

    public init(_ endpoint: ErasureEndpoint.ID, path: String = "", method: Target.Method? = nil, body: String = "", tag: String = "") {
        self.endpoint = endpoint
        self.path = path
        self.method = method
        self.body = body
        self.tag = tag
    }

    /// Returns a text as one segment of a path, or as a value of a query.
    public static func percentEncoded(_ text: String) -> String {
        let text = HTTPKit.percentEncoded(text)
        // A segment of dots would be a step up in the path.
        return text == "." || text == ".." ? text.replacingDots : text
    }

    /// Returns a text as a string of JSON, with its quotes.
    public static func json(_ text: String) -> String { JSONString.quoted(text, as: .numeric) }
}

extension String {
    fileprivate var replacingDots: String { utf8.map { _ in "%2E" }.joined() }
}

/// Where the requests of an erasure go.
public enum ErasureEndpoint {
    public struct ID: Sendable, Equatable { let index: Int }
}

/// The job as the vendor's code sees it.
public struct ErasureJob: Sendable {
    public typealias Subject = Erasure.Subject
    /// The subjects that are still to be erased.
    public let subjects: [Subject]
    /// What the router keeps for the next round, encrypted and over restarts, such as the vendor's number of the job. It is empty in the
    /// first round. At most `Erasure.mostState` bytes.
    public var state: String
    /// The number of the round, from 1.
    public let attempt: Int
    /// When the job began, and the time now, in nanoseconds since 1970.
    public let begun: Int64
    public let now: Int64
    private(set) var settled: [Int: Outcome] = [:]

    /// For tests of a vendor's code.
    public init(_ subjects: [Subject], state: String = "", attempt: Int = 1, begun: Int64 = 0, now: Int64 = 0) {
        self.subjects = subjects
        self.state = state
        self.attempt = attempt
        self.begun = begun
        self.now = now
    }

    /// Gives a subject an outcome of its own, which differs from the end of the round: `.delivered` if it is confirmed, `.rejected` with
    /// what a person must do if it cannot be erased.
    public mutating func settle(_ index: Int, _ outcome: Outcome) {
        precondition(subjects.indices.contains(index), "the job has no such subject")
        settled[index] = outcome
    }

    /// The indices of the subjects whose id came from one of these members, and that have no outcome yet.
    public func indices(of members: [String]) -> [Int] {
        subjects.indices.filter { members.contains(subjects[$0].member) && settled[$0].map { _ in false } ?? true }
    }

    /// The indices of the subjects that have no outcome yet.
    public var open: [Int] { subjects.indices.filter { settled[$0].map { _ in false } ?? true } }

    /// The ids of the open subjects of these members as a JSON list of texts.
    public func list(of members: [String]) -> String {
        "[" + indices(of: members).map { ErasureCall.json(subjects[$0].id) }.joined(separator: ",") + "]"
    }
}
