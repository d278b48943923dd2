// Answers the requests of the page at the address of `admin`, and makes its links for the control socket. It promises: whoever has no session
// gets the document that asks for a link, and otherwise an empty refusal; a request that another origin has caused gets an empty refusal; only
// a request with the origin and the token of the session changes anything. The audit trail has each person who enters before anything is shown.

public import Audit
public import Control
internal import Ledger
internal import Page
internal import Plans
public import Platform
internal import Queueing
public import Router

public final class PageService: Sendable {
    /// The path at the control socket that makes a link, and the one that ends all sessions.
    public static let linkPath = "/page"
    public static let endPath = "/page/end"
    public static let prefix = PageRules.path

    private struct State {
        var door = PageDoor()
        var history = PageHistory()
        /// It is nil until the server listens.
        var rules: PageRules?
    }

    let router: Router
    /// The audit trail. It is nil if none is kept.
    let audit: AuditLog?
    let taps: TapService
    let replays: PageReplay
    let drafts: PageDrafts
    /// The state folder, and the configuration.
    let folder: String
    let file: String
    private let status: @Sendable () -> StatusReport
    private let origins: [String]
    private let clock: Clock
    private let say: @Sendable (String) -> Void
    private let state = Monitor(State())

    public init(
        _ router: Router, origins: [String], audit: AuditLog?, taps: TapService, replays: PageReplay, file: String, folder: String,
        clock: Clock = .system, say: @escaping @Sendable (String) -> Void, status: @escaping @Sendable () -> StatusReport
    ) {
        self.router = router
        self.origins = origins
        self.audit = audit
        self.taps = taps
        self.replays = replays
        self.file = file
        self.folder = folder
        drafts = PageDrafts(router, folder: folder, clock: clock)
        self.clock = clock
        self.status = status
        self.say = say
    }

    /// Says where the server listens. Before, nothing is answered.
    public func listens(host: String, port: UInt16) {
        state.withLock { $0.rules = PageRules(host: host, port: port, origins: origins) }
    }

    /// How often `sample` is due.
    public static let interval = Duration.seconds(PageHistory.interval)

    /// Adds what the lanes do now to the history.
    public func sample() {
        let status = router.status
        let readings = status.lanes.map { lane in
            let (now, account) = (lane.status, lane.status.account)
            let bad = LaneAccount.Fate.allCases.filter(\.isBad).reduce(0) { $0 + account.total($1) }
            return PageHistory.Reading(
                lane: lane.provider, waiting: now.events, age: now.oldest.map { Double(max(0, status.at - $0)) / 1e9 },
                delivered: account.total(.delivered), errors: account.retries + bad, bounds: now.ages.bounds.map { Double($0) / 1e9 },
                ages: now.ages.counts)
        }
        state.withLock { $0.history.add(readings) }
    }

    // MARK: - The control socket

    /// Makes a link for the user who asks, or ends all sessions.
    public func answerOwner(_ request: Request) -> Response {
        let now = clock.now()
        if request.path == PageService.endPath {
            let count = state.withLock { $0.door.endAll(at: now) }
            return Response(200, "{\"ended\":\(count)}\n")
        }
        let code = PageDoor.secret()
        let sites = state.withLock { state in
            state.door.add(link: code, by: request.user, at: now)
            return state.rules?.sites ?? []
        }
        // The address itself, and what the configuration names. The second name of the address is not of interest.
        let origins = (sites.prefix(1).map(\.origin) + self.origins)
        let text = String(decoding: code, as: UTF8.self)
        let links = origins.map { jsonQuoted("\($0)\(PageRules.path)#\(text)") }
        let seconds = PageDoor.linkLife.nanoseconds / 1_000_000_000
        return Response(200, "{\"links\":[\(links.joined(separator: ","))],\"valid_s\":\(seconds)}\n")
    }

    // MARK: - The page

    /// Answers a request to a path of the page. Anyone may have sent it.
    public func answer(_ request: Request) -> Response {
        let response =
            switch judge(request) {
            case .answered(let response): response
            case .enters(let rules, let site): enter(request, rules, site)
            case .looks(let name, let session): look(name, request.query, session)
            case .leaves(let session, let rules, let site): leave(session, rules, site)
            case .changes(let name, let session): change(name, request, session)
            }
        return PageService.guarded(response)
    }

    /// Returns the refusal of a request, before anything of its body is read, if its body is too long or if it may not have one.
    public func refuse(_ head: Request, bodyBytes: Int) -> Response? {
        guard bodyBytes > 0 else { return nil }
        let most: Int
        switch judge(head) {
        case .answered(let response): return PageService.guarded(response.status < 400 ? PageService.nothing(413) : response)
        case .looks: return PageService.guarded(PageService.nothing(413))
        case .enters, .leaves: most = PageService.mostEntryBytes
        case .changes(let name, _): most = PageService.mostBytes(of: name)
        }
        return bodyBytes <= most ? nil : PageService.guarded(PageService.tooLong(head))
    }

    /// The most bytes of the body that enters.
    private static let mostEntryBytes = 1000

    /// What a request is, by its head.
    private enum Verdict {
        case answered(Response)
        case enters(PageRules, PageRules.Site)
        case looks(String, PageDoor.Session)
        case leaves(PageDoor.Session, PageRules, PageRules.Site)
        case changes(String, PageDoor.Session)
    }

    private func judge(_ request: Request) -> Verdict {
        guard let rules = state.withLock({ $0.rules }), let site = rules.site(of: request) else {
            return .answered(PageService.nothing(403))
        }
        let isRoot = request.path == PageRules.path
        guard rules.isOwn(request, at: site) else {
            return .answered(isRoot && rules.isNavigation(request) ? PageService.file(PageFile.door) : PageService.nothing(403))
        }
        let name = String(request.path.dropFirst(PageRules.path.count))
        if request.method == "POST", name == "enter" {
            return rules.mayChange(request, at: site) ? .enters(rules, site) : .answered(PageService.nothing(403))
        }
        let (cookie, now) = (rules.cookie(of: request), clock.now())
        let session = state.withLock { $0.door.session(cookie, at: now) }
        if request.method == "GET", isRoot { return .answered(PageService.file(session == nil ? PageFile.door : PageFile.page)) }
        if request.method == "GET", let file = PageFile.named(name), file.isOpen { return .answered(PageService.file(name)) }
        guard let session else { return .answered(PageService.nothing(401)) }
        if request.method == "GET" { return .looks(name, session) }
        guard rules.mayChange(request, at: site), session.has(token: request.headers["x-switchyard-token"] ?? "") else {
            return .answered(PageService.nothing(403))
        }
        return name == "leave" ? .leaves(session, rules, site) : .changes(name, session)
    }

    private static func guarded(_ response: Response) -> Response {
        var response = response
        for (name, value) in PageRules.headers { response.headers[name] = value }
        return response
    }

    private func leave(_ session: PageDoor.Session, _ rules: PageRules, _ site: PageRules.Site) -> Response {
        state.withLock { $0.door.end(session) }
        var response = Response(200, "{}\n")
        response.headers["Set-Cookie"] = rules.cookieHeader(nil, at: site)
        return response
    }

    /// Opens a session for the code of a link.
    private func enter(_ request: Request, _ rules: PageRules, _ site: PageRules.Site) -> Response {
        guard request.body.count <= PageService.mostEntryBytes, let members = Form.members(request.body),
            let code = members.first(where: { $0.name == "code" })?.value
        else { return PageService.nothing(401) }
        let (cookie, token, now) = (PageDoor.secret(), PageDoor.secret(), clock.now())
        let (session, wrong) = state.withLock { state in
            (state.door.enter(code, cookie: cookie, token: token, at: now), state.door.wrong)
        }
        guard let session else {
            if wrong == 1 { say("admin: somebody has tried a link of the page that is not valid, or no longer") }
            if wrong == PageDoor.mostWrong { say("admin: \(wrong) links of the page were not valid; those that were open have ended") }
            return PageService.nothing(401)
        }
        guard note("page", by: session.user) else {
            state.withLock { $0.door.end(session) }
            return PageService.nothing(503)
        }
        var response = Response(200, "{}\n")
        response.headers["Set-Cookie"] = rules.cookieHeader(session, at: site)
        return response
    }

    /// Shows a file or what the router does.
    private func look(_ name: String, _ query: String, _ session: PageDoor.Session) -> Response {
        switch name {
        case "data/session": Response(200, "{\"token\":\(jsonQuoted(String(decoding: session.token, as: UTF8.self)))}\n")
        case "data/status": Response(200, status().json)
        case "data/flow": Response(200, FlowText(router.plan).json)
        case "data/letters": letterCounts()
        case "data/schema": Response(200, drafts.schema)
        case "data/history":
            Response(200, state.withLock { $0.history }.json(after: query.hasPrefix("after=") ? Int(query.dropFirst(6)) ?? 0 : 0))
        default: PageFile.named(name) == nil ? .fault(404, "the page has nothing of this name") : PageService.file(name)
        }
    }

    /// Notes what a person does, before anything is shown. Returns false if it cannot be recorded.
    func note(_ what: String, by user: UInt32?) -> Bool {
        guard let audit else { return true }
        audit.note(.access(what, at: audit.now, keys: audit.keys, user: user))
        return (try? audit.flush()) != nil
    }

    /// A refusal that tells nothing.
    static func nothing(_ status: Int) -> Response { Response(status, type: "text/plain; charset=utf-8", "") }

    private static func file(_ name: String) -> Response {
        guard let file = PageFile.named(name) else { return nothing(404) }
        return Response(200, type: file.type, file.bytes)
    }
}

extension LaneAccount.Fate {
    /// True if an event with this fate did not reach its provider, though it should have.
    fileprivate var isBad: Bool {
        switch self {
        case .rejected, .expired, .dropped, .unknown, .undelivered, .damaged: true
        case .delivered, .filtered, .withdrawn, .aged: false
        }
    }
}
