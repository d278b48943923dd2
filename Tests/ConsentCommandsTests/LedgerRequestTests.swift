import Testing

@testable import ConsentCommands

@Suite("A request to the ledger")
struct LedgerRequestTests {
    private func refusal(_ action: LedgerRequest.Action, _ form: String) -> ConsentRefusal? {
        do throws(ConsentRefusal) {
            _ = try LedgerRequest(action, form: Array(form.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test("is the same after it was sent as a form, whatever its texts", arguments: ["u1", "a b&c=d", "100%", "ä+ö", "\u{0}\n", "%41"])
    func form(id: String) throws {
        let request = LedgerRequest(.set, ids: [id], ["level": id, "grant": "a,b", "json": ""])
        #expect(try LedgerRequest(.set, form: Array(request.form.utf8)) == request)
    }

    @Test("may come from curl, which writes a space as + and leaves most characters as they are")
    func curl() throws {
        let request = try LedgerRequest(.get, form: Array("id=a+b%2Bc@d".utf8))
        #expect(request.ids == ["a b+c@d"])
    }

    @Test("is refused if it is no form in UTF-8", arguments: ["id=%", "id=%4", "id=%zz", "id=%ff", "id=%+1"])
    func broken(form: String) {
        #expect(refusal(.get, form)?.message == "expected a form such as id=u1&level=standard, in UTF-8")
    }

    @Test("is refused with members that its action does not take, or with a member twice")
    func members() {
        #expect(refusal(.get, "id=u1&level=a")?.message == "get takes id, json, each once, and nothing else")
        #expect(refusal(.set, "id=u1&level=a&level=b")?.status == 400)
        #expect(refusal(.stats, "id=u1")?.message == "stats takes no id, was given 1")
    }

    @Test("has as many ids as its action takes, each once and none empty")
    func ids() {
        #expect(refusal(.get, "")?.message == "get takes one id, was given 0")
        #expect(refusal(.tie, "id=a")?.message == "tie takes two ids or more, was given 1")
        #expect(refusal(.tie, "id=a&id=a")?.message == "an id was given twice")
        #expect(refusal(.get, "id=")?.message == "an id is empty")
        #expect(refusal(.receipts, "") == nil)
    }
}
