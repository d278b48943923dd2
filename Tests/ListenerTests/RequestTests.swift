import Testing

@testable import Listener

@Suite struct RequestTests {
    @Test func `Each header is found by its name, and a name that the request does not have is not`() {
        let letters = "abcdefghijklmnopqrstuvwxyz-0123456789"
        // Every first letter, with lengths beyond those that have a bit of their own.
        let names = letters.enumerated().map { index, letter in String(letter) + String(repeating: "x", count: index * 3) }
        let request = Request(method: "POST", path: "/", headers: names.map { ($0.uppercased(), "value of \($0)") })
        for name in names {
            #expect(request.header(name) == "value of \(name)")
            #expect(request.header(name + "x") == nil)
            #expect(Request(method: "POST", path: "/", headers: [("host", "a"), (name, "b")]).header(name) == "b")
            #expect(Request(method: "POST", path: "/", headers: [("host", "a")]).header(name) == nil)
        }
        #expect(request.header("") == nil)
    }

    @Test func `A header that is there twice has both values`() {
        let request = Request(method: "POST", path: "/", headers: [("Accept", "a"), ("Host", "h"), ("accept", "b")])
        #expect(request.list("accept").count == 2)
        #expect(request.list("accept").value == "a,b")
        #expect(request.list("prefer").count == 0)
    }
}
