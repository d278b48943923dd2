// Answers requests about a running router: its health, metrics and status. On the control socket, which only its owner can use, it also
// answers reloads, taps and requests to the ledger, and makes links of the page. It never does so at the address of `admin`, which has the page
// itself instead.

internal import ConsentCommands
internal import Control
internal import InspectCommands
internal import Platform
internal import Router
internal import Terminal

struct ControlService: Sendable {
    let router: Router
    let listeners: Listeners
    let modules: ModuleSources
    let reloader: Reloader
    let folder: String
    let started: Int64
    /// It is nil if no ledger is kept.
    let consent: LedgerService?
    let taps: TapService
    /// It is nil if the address of `admin` has no page.
    let page: PageService?

    private enum Page: String, CaseIterable {
        case healthz, readyz, metrics, status, reload, tap, page
        /// All paths below `/consent/`.
        case consent

        var method: String {
            switch self {
            case .healthz, .readyz, .metrics, .status: "GET"
            case .reload, .tap, .page, .consent: "POST"
            }
        }

        func isMeant(by path: String) -> Bool {
            switch self {
            case .consent: path.hasPrefix(LedgerService.path)
            case .tap: TapService.isMeant(by: path)
            case .page: path == PageService.linkPath || path == PageService.endPath
            case .healthz, .readyz, .metrics, .status, .reload: path == "/" + rawValue
            }
        }
    }

    /// Answers a request at the control socket.
    func answer(_ request: Request, _ done: @escaping @Sendable (Response) -> Void) { answer(request, pages: Page.allCases, done: done) }

    /// Returns the refusal of a request at the address of `admin`, before anything of its body is read. Only the page takes a body, and only
    /// from who may send it one.
    func refuse(_ head: Request, bodyBytes: Int, _ hosts: HostRules) -> Response? {
        // The page knows its own names, which are fewer.
        if let page, head.path.hasPrefix(PageService.prefix) { return page.refuse(head, bodyBytes: bodyBytes) }
        guard hosts.allow(head) else {
            return .fault(
                403, "the address of admin does not answer under this name; ask by its address, or name it in \"origins\" of \"admin\"")
        }
        return bodyBytes > 0 ? .fault(413, "the address of admin takes no body") : nil
    }

    /// Answers a request at the address of `admin`, which others may reach. Only GET is allowed, except on the page, which has rules of its
    /// own.
    func answerLooking(_ request: Request, _ done: @escaping @Sendable (Response) -> Void) {
        if let page, request.path.hasPrefix(PageService.prefix) {
            Thread.start("control page") { done(page.answer(request)) }.detach()
            return
        }
        answer(request, pages: Page.allCases.filter { $0.method == "GET" }, done: done)
    }

    private func answer(_ request: Request, pages: [Page], done: @escaping @Sendable (Response) -> Void) {
        guard let page = pages.first(where: { $0.isMeant(by: request.path) }) else {
            let known = pages.map { "\($0.method) /\($0.rawValue)\($0 == .consent ? "/…" : "")" }.joined(separator: ", ")
            return done(.fault(404, "unknown path, expected \(known)"))
        }
        guard request.method == page.method else {
            var response = Response.fault(405, "\(request.path) needs \(page.method)")
            response.allow = page.method
            return done(response)
        }
        // Use another thread: a disk or a module may be slow, and the thread of the socket must serve other clients.
        Thread.start("control \(request.path)") { done(response(page, request)) }.detach()
    }

    private func response(_ page: Page, _ request: Request) -> Response {
        switch page {
        case .healthz: health(router.health)
        case .readyz: health(router.readiness)
        case .metrics:
            Response(200, type: "text/plain; version=0.0.4; charset=utf-8", metrics)
        case .status: status(request.query)
        case .reload: reload()
        case .tap: taps.answer(request)
        case .page:
            self.page?.answerOwner(request)
                ?? .fault(
                    422, "\(reloader.file): the address of admin has no page; \"admin\": { \"page\": true } gives it one at the next start")
        case .consent:
            consent?.answer(request, by: router.plan) ?? .fault(422, "\(reloader.file): \(LedgerService.advice)")
        }
    }

    private func health(_ health: Health) -> Response {
        if health.isGood {
            return Response(200, type: "text/plain; charset=utf-8", (["ok"] + health.notes).map { $0 + "\n" }.joined())
        }
        return .fault(503, health.troubles.joined(separator: "\n"))
    }

    private func status(_ query: String) -> Response {
        let report = StatusReport(
            router, listeners.status, modules: modules.status, folder: folder, configuration: reloader.file, started: started)
        let options = query.split(separator: "&")
        guard options.contains("format=text") else { return Response(200, report.json) }
        return Response(200, type: "text/plain; charset=utf-8", report.text(Style(isColoured: options.contains("colour=1"))))
    }

    private var metrics: String { Metrics.text(router.status, listeners.status, modules: modules.status, started: started) }

    private func reload() -> Response {
        let outcome = reloader.reload()
        return Response(outcome.isGood ? 200 : 422, type: "text/plain; charset=utf-8", outcome.lines.map { $0 + "\n" }.joined())
    }
}
