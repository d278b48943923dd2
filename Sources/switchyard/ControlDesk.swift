// What a router answers over its control socket: GET /status and POST /reload.

import Control
import Platform
import Router

struct ControlDesk: Sendable {
    let router: Router
    let listeners: Listeners
    let reloader: Reloader
    let folder: String
    let started: Int64

    func answer(_ request: Request, _ done: @escaping @Sendable (Response) -> Void) {
        let paths = ["/status": "GET", "/reload": "POST"]
        guard let method = paths[request.path] else {
            return done(.fault(404, "there is /status to GET and /reload to POST"))
        }
        guard request.method == method else {
            var response = Response.fault(405, "\(request.path) is for \(method)")
            response.allow = method
            return done(response)
        }
        // Aside: a disk or a module may be slow, and the socket has others to serve.
        Thread.start("control \(request.path)") { done(request.path == "/status" ? status(request.query) : reload()) }.detach()
    }

    private func status(_ query: String) -> Response {
        let report = StatusReport(router, listeners.status, folder: folder, configuration: reloader.file, started: started)
        let words = query.split(separator: "&")
        guard words.contains("format=text") else { return Response(200, report.json) }
        return Response(200, type: "text/plain; charset=utf-8", report.text(Style(isColoured: words.contains("colour=1"))))
    }

    private func reload() -> Response {
        let outcome = reloader.reload()
        return Response(outcome.isGood ? 200 : 422, type: "text/plain; charset=utf-8", outcome.lines.map { $0 + "\n" }.joined())
    }
}
