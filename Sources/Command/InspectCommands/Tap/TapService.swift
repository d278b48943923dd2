// Answers the requests of taps at the control socket. A client opens a tap, asks for its events again and again, and closes it; each is a
// request of its own. A client that reads slowly or dies therefore holds nothing, and its tap ends when it has not asked for some time. The
// audit trail has an entry for each tap before anything is shown.

public import Audit
public import Control
internal import Expressions
internal import Glibc
internal import Ledger
internal import Plans
internal import Platform
public import Router
internal import Tapping

public struct TapService: Sendable {
    public static let path = "/tap"

    private let router: Router
    /// The audit trail. It is nil if none is kept.
    private let audit: AuditLog?

    public init(_ router: Router, audit: AuditLog?) {
        self.router = router
        self.audit = audit
    }

    public static func isMeant(by path: String) -> Bool { path == TapService.path || path.hasPrefix(TapService.path + "/") }

    private struct Refusal: Error {
        var status: Int
        var words: String
    }

    /// Answers a request. It may wait for events, but not for long.
    public func answer(_ request: Request) -> Response {
        let rest = request.path.dropFirst(TapService.path.utf8.count).split(separator: "/")
        do throws(Refusal) {
            guard let first = rest.first else { return try open(request) }
            guard let number = Int(first), rest.count == 1 || rest.count == 2 && rest[1] == "end" else {
                throw Refusal(status: 404, words: "unknown path, expected /tap, /tap/NUMBER or /tap/NUMBER/end")
            }
            if rest.count == 2 {
                router.taps.close(number, user: request.user)
                return TapService.lines("")
            }
            return try next(number, request.user)
        } catch {
            return .fault(error.status, error.words)
        }
    }

    private static func lines(_ text: String) -> Response { Response(200, type: "application/x-ndjson", text) }

    // MARK: - Opening

    private func open(_ request: Request) throws(Refusal) -> Response {
        let asked = try read(request.body)
        // The system names the user. Root and the owner of the router see values, and nobody else.
        if asked.isRaw, request.user != 0, request.user != geteuid() {
            throw Refusal(status: 403, words: "--raw is only for the owner of the router")
        }
        try note(asked, by: request.user)
        let taps = router.taps
        guard let number = taps.open(asked, user: request.user) else {
            throw Refusal(status: 503, words: "\(Taps.most) taps are open, which is the most; end one of them, or try again later")
        }
        Thread.start("tap \(number)") { taps.watchExpiry() }.detach()
        return Response(200, "{\"tap\":\(number)}\n")
    }

    private func read(_ form: [UInt8]) throws(Refusal) -> TapRequest {
        guard let members = Form.members(form) else { throw Refusal(status: 400, words: "expected a form such as stage=in, in UTF-8") }
        var asked = TapRequest(.in)
        var seen: Set<String> = []
        for (name, value) in members {
            guard seen.insert(name).inserted else { throw Refusal(status: 400, words: "\(name) was given twice") }
            switch name {
            case "stage":
                guard let stage = TapStage(rawValue: value) else {
                    let known = TapStage.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Refusal(status: 400, words: "the stage must be one of \(known), is '\(printable(value))'")
                }
                asked.stage = stage
            case "route": asked.route = value
            case "provider": asked.provider = value
            case "where": asked.condition = try condition(value)
            case "raw": asked.isRaw = true
            case "limit":
                guard let limit = Int(value), limit > 0 else { throw Refusal(status: 400, words: "the limit must be a number above 0") }
                asked.limit = limit
            default: throw Refusal(status: 400, words: "a tap takes stage, route, provider, where, raw and limit, and nothing else")
            }
        }
        let plan = router.plan
        if let route = asked.route, !plan.routes.contains(where: { $0.name == route }) {
            throw Refusal(status: 404, words: "the configuration has no route '\(printable(route))'")
        }
        if let provider = asked.provider, !plan.providers.contains(where: { $0.name == provider }) {
            throw Refusal(status: 404, words: "the configuration has no provider '\(printable(provider))'")
        }
        return asked
    }

    private func condition(_ text: String) throws(Refusal) -> Expression {
        do throws(ExpressionFault) {
            return try Expression.condition(text)
        } catch {
            throw Refusal(status: 422, words: "--where:\(place(of: error.offset, in: text)): \(printable(error.message))")
        }
    }

    /// Notes that somebody looks. The entry is on disk before anything is shown. It names no condition, which may have the id of a person.
    private func note(_ asked: TapRequest, by user: UInt32?) throws(Refusal) {
        guard let audit else { return }
        let parts = [
            "tap \(asked.stage.rawValue)", asked.route.map { "route \($0)" }, asked.provider.map { "provider \($0)" },
            asked.isRaw ? "raw" : nil,
        ]
        let what = parts.compactMap(\.self).joined(separator: ", ")
        audit.note(.access(what, at: audit.now, keys: audit.keys, user: user))
        do throws(StorageFault) {
            try audit.flush()
        } catch {
            throw Refusal(status: 503, words: "the access cannot be recorded in the audit trail: \(error)")
        }
    }

    // MARK: - Events

    private func next(_ number: Int, _ user: UInt32?) throws(Refusal) -> Response {
        guard let taken = router.taps.take(number, user: user) else { throw Refusal(status: 404, words: "there is no tap \(number)") }
        let text = TapText(request: taken.request, plan: router.plan)
        var lines: [(event: TappedEvent, line: String)] = []
        for event in taken.events {
            if let line = text.line(event) { lines.append((event, line)) }
        }
        // Ask last: a withdrawal may have come while the lines were made.
        let may = router.taps.pass(number, lines.map(\.event))
        var shown = zip(lines, may).filter(\.1).map(\.0.line).joined()
        if taken.dropped > 0 { shown += "{\"dropped\":\(taken.dropped)}\n" }
        return TapService.lines(shown)
    }
}
