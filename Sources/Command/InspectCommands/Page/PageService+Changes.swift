// What a person does on the page beside looking: the tap and the replay of dead letters. The service has checked the origin and the token of
// the request. The audit trail has each act, with the user of the session, before it begins.

internal import Control
internal import Page
internal import Plans
internal import Platform
internal import Router

extension PageService {
    /// Carries out what the person asks for.
    func change(_ name: String, _ request: Request, _ session: PageDoor.Session) -> Response {
        switch name {
        case "letters": showLetters(request, session)
        case "replay": replay(request, session)
        case _ where name == "tap" || name.hasPrefix("tap/"): tap(name, request, session)
        default: .fault(404, "the page has nothing of this name")
        }
    }

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

    private static let unrecorded = Response.fault(503, "the access cannot be recorded in the audit trail")
}
