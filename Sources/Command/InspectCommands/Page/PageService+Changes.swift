// What a person does on the page beside looking: the tap, the replay of dead letters, and drafts. The service has checked the origin and the
// token of the request. The audit trail has each act that shows or changes something, with the user of the session, before it begins.

internal import Control
internal import Document
internal import Page
internal import Plans
internal import Platform
internal import Router
internal import Startup
internal import Terminal

extension PageService {
    /// Carries out what the person asks for.
    func change(_ name: String, _ request: Request, _ session: PageDoor.Session) -> Response {
        switch name {
        case "letters": showLetters(request, session)
        case "replay": replay(request, session)
        case "configuration": showConfiguration(session)
        case "draft/check", "draft/try": draft(name, request, session)
        case _ where name.hasPrefix("draft/try/"): comparison(name, session)
        case _ where name == "tap" || name.hasPrefix("tap/"): tap(name, request, session)
        default: .fault(404, "the page has nothing of this name")
        }
    }

    /// The most bytes of the body of a change. A draft in a form may have three bytes for each of its own.
    static func mostBytes(of name: String) -> Int { name.hasPrefix("draft/") ? 3 * PageDrafts.mostBytes + 100 : 16 << 10 }

    /// The refusal of a body that is too long.
    static func tooLong(_ head: Request) -> Response {
        head.path.hasPrefix(prefix + "draft/") ? tooLargeDraft : .fault(413, "the body is too long")
    }

    private static let tooLargeDraft = Response.fault(413, "a draft may have \(PageDrafts.mostBytes >> 10) kB at most")

    /// The counts of dead letters, and how a replay goes.
    func letterCounts() -> Response {
        do throws(StorageFault) {
            let counts = try PageLetters(folder: folder, plan: router.plan).counts()
            return Response(200, "{\"counts\":\(counts),\"replay\":\(replays.json)}\n")
        } catch {
            return .fault(503, "\(error)")
        }
    }

    private func showLetters(_ request: Request, _ session: PageDoor.Session) -> Response {
        let after = Form.members(request.body)?.first { $0.name == "after" }.flatMap { Int64($0.value) } ?? 0
        guard note("dead letters", by: session.user) else { return PageService.unrecorded }
        do throws(StorageFault) {
            return Response(200, type: "application/x-ndjson", try PageLetters(folder: folder, plan: router.plan).lines(after: after))
        } catch {
            return .fault(503, "\(error)")
        }
    }

    private func replay(_ request: Request, _ session: PageDoor.Session) -> Response {
        let provider = Form.members(request.body)?.first { $0.name == "provider" }?.value
        if let provider, !router.plan.providers.contains(where: { $0.name == provider }) {
            return .fault(404, "the configuration has no provider '\(printable(provider))'")
        }
        guard note("replay of dead letters" + (provider.map { ", provider \($0)" } ?? ""), by: session.user) else {
            return PageService.unrecorded
        }
        return replays.begin(provider) ? Response(200, "{}\n") : .fault(409, "a replay is running")
    }

    /// The tap of `switchyard tap`, but for one thing: the page never shows values as they are, whoever asks.
    private func tap(_ name: String, _ request: Request, _ session: PageDoor.Session) -> Response {
        guard !(Form.members(request.body) ?? []).contains(where: { $0.name == "raw" }) else {
            return .fault(403, "the page shows no values as they are; switchyard tap --raw does")
        }
        var asked = Request(method: "POST", path: "/" + name, body: request.body)
        asked.user = session.user
        return taps.answer(asked)
    }

    // MARK: - Drafts

    /// The file of the router as a beginning of a draft, without literal keys and values of placeholders.
    private func showConfiguration(_ session: PageDoor.Session) -> Response {
        guard note("configuration", by: session.user) else { return PageService.unrecorded }
        guard case .success(let bytes) = Loading.input(file, most: PageDrafts.mostBytes) else {
            return .fault(404, "\(printable(file)) cannot be read")
        }
        let plan = router.plan
        let keys = HiddenTexts(plan.keys.map { String(decoding: $0.secret.bytes, as: UTF8.self) })
        let text = keys.masked(plan.hidden.masked(String(decoding: bytes, as: UTF8.self)))
        return Response(200, type: "text/plain; charset=utf-8", PageDrafts.named(text))
    }

    /// Checks a draft, and begins to compare it with the running plan if it is valid.
    private func draft(_ name: String, _ request: Request, _ session: PageDoor.Session) -> Response {
        guard let text = Form.members(request.body)?.first(where: { $0.name == "text" })?.value else {
            return .fault(400, "expected a draft, in UTF-8")
        }
        guard text.utf8.count <= PageDrafts.mostBytes else { return PageService.tooLargeDraft }
        let verdict = drafts.check(Array(text.utf8))
        guard name == "draft/try" else { return Response(200, verdict.json) }
        guard let plan = verdict.plan else { return .fault(422, "the draft is not valid, or a value of it comes from ${env:} or ${file:}") }
        guard note("comparison of a draft with events", by: session.user) else { return PageService.unrecorded }
        do {
            return Response(200, "{\"trial\":\(try drafts.begin(plan, by: session.user))}\n")
        } catch {
            return .fault(503, (error as? StateFailure)?.message ?? "\(error)")
        }
    }

    /// How far a comparison is, or its end.
    private func comparison(_ name: String, _ session: PageDoor.Session) -> Response {
        let parts = name.split(separator: "/").dropFirst(2)
        guard let number = parts.first.flatMap({ Int($0) }) else { return .fault(404, "there is no such comparison") }
        if parts.dropFirst().first == "end" {
            drafts.end(number, by: session.user)
            return Response(200, "{}\n")
        }
        return drafts.next(number, by: session.user).map { Response(200, $0) } ?? .fault(404, "there is no such comparison")
    }

    private static let unrecorded = Response.fault(503, "the access cannot be recorded in the audit trail")
}
