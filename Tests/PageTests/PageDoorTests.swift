import Platform
import Testing

@testable import Page

private let cookie = Array(String(repeating: "c", count: 64).utf8)
private let token = Array(String(repeating: "t", count: 64).utf8)

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
private func code(_ number: Int) -> [UInt8] { Array("code-\(number)-that-is-long-enough".utf8) }
private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

@Suite("The way into the page")
struct PageDoorTests {
    /// A door with one session, which began at 0.
    private func entered() -> PageDoor {
        var door = PageDoor()
        door.add(link: code(1), by: 1000, at: at(0))
        _ = door.enter(text(code(1)), cookie: cookie, token: token, at: at(0))
        return door
    }

    @Test("a link opens a session of the user who asked for it, once")
    func once() throws {
        var door = PageDoor()
        door.add(link: code(1), by: 1000, at: at(0))
        let found = door.enter(text(code(1)), cookie: cookie, token: token, at: at(1))
        let session = try #require(found)
        #expect(session.user == 1000 && session.cookie == cookie && session.token == token)
        #expect(door.enter(text(code(1)), cookie: code(8), token: token, at: at(1)) == nil)
        #expect(door.session(text(cookie), at: at(2))?.user == 1000)
    }

    @Test("a link is valid for two minutes")
    func short() {
        var door = PageDoor()
        door.add(link: code(1), by: nil, at: at(0))
        #expect(door.enter(text(code(1)), cookie: cookie, token: token, at: at(120)) == nil)
        door.add(link: code(2), by: nil, at: at(200))
        #expect(door.enter(text(code(2)), cookie: cookie, token: token, at: at(319)) != nil)
    }

    @Test("a wrong code, a part of one and a longer one open nothing")
    func wrong() {
        for sent in ["", "code", text(code(1)).uppercased(), text(code(1) + code(1)), text(code(2))] {
            var door = PageDoor()
            door.add(link: code(1), by: nil, at: at(0))
            #expect(door.enter(sent, cookie: cookie, token: token, at: at(0)) == nil)
            #expect(door.enter(text(code(1)), cookie: cookie, token: token, at: at(0)) != nil)
        }
    }

    @Test("after eight wrong codes no link that was open opens anything")
    func guessing() {
        var door = PageDoor()
        door.add(link: code(1), by: nil, at: at(0))
        for _ in 0..<7 { #expect(door.enter("guess", cookie: cookie, token: token, at: at(0)) == nil) }
        var other = door
        #expect(other.enter(text(code(1)), cookie: cookie, token: token, at: at(0)) != nil)
        #expect(door.enter("guess", cookie: cookie, token: token, at: at(0)) == nil && door.wrong == 8)
        #expect(door.enter(text(code(1)), cookie: cookie, token: token, at: at(0)) == nil)
        door.add(link: code(2), by: nil, at: at(0))
        #expect(door.enter(text(code(2)), cookie: cookie, token: token, at: at(0)) != nil)
    }

    @Test("four links are open at most, and the oldest one ends")
    func links() {
        var door = PageDoor()
        for number in 1...5 { door.add(link: code(number), by: nil, at: at(0)) }
        #expect(door.enter(text(code(1)), cookie: cookie, token: token, at: at(0)) == nil)
        #expect(door.enter(text(code(2)), cookie: cookie, token: token, at: at(0)) != nil)
    }

    @Test("eight sessions are open at most, and the oldest one ends")
    func sessions() {
        var door = PageDoor()
        for number in 1...9 {
            door.add(link: code(number), by: nil, at: at(0))
            _ = door.enter(text(code(number)), cookie: code(100 + number), token: token, at: at(Int64(number)))
        }
        #expect(door.openSessions == 8)
        #expect(door.session(text(code(101)), at: at(9)) == nil)
        #expect(door.session(text(code(102)), at: at(9)) != nil)
    }

    @Test("a session ends after half an hour without use, and after twelve hours in any case")
    func idle() {
        var door = entered()
        #expect(door.session(text(cookie), at: at(1799)) != nil)
        #expect(door.session(text(cookie), at: at(1799 + 1800)) == nil)
        door = entered()
        for minute in 1..<(12 * 60) { #expect(door.session(text(cookie), at: at(Int64(minute) * 60)) != nil) }
        #expect(door.session(text(cookie), at: at(12 * 3600)) == nil)
    }

    @Test("a session ends alone or with all others, and links end with them")
    func ends() throws {
        var door = entered()
        let found = door.session(text(cookie), at: at(1))
        let session = try #require(found)
        door.end(session)
        #expect(door.session(text(cookie), at: at(1)) == nil)
        door = entered()
        door.add(link: code(2), by: nil, at: at(1))
        #expect(door.endAll(at: at(1)) == 1)
        #expect(door.session(text(cookie), at: at(1)) == nil)
        #expect(door.enter(text(code(2)), cookie: cookie, token: token, at: at(1)) == nil)
    }

    @Test("no cookie, a wrong one and the token have no session; only the token itself is the token")
    func cookies() throws {
        var door = entered()
        for sent in [nil, "", "c", text(token), text(cookie + cookie)] { #expect(door.session(sent, at: at(1)) == nil) }
        let found = door.session(text(cookie), at: at(1))
        let session = try #require(found)
        #expect(session.has(token: text(token)))
        for sent in ["", "t", text(cookie), text(token + token)] { #expect(!session.has(token: sent)) }
    }

    @Test("a secret has 256 random bits")
    func secrets() {
        let secrets = (0..<100).map { _ in PageDoor.secret() }
        #expect(secrets.allSatisfy { $0.count == 64 && $0.allSatisfy { "0123456789abcdef".utf8.contains($0) } })
        #expect(Set(secrets).count == 100)
        // Each place has many values: none of it is fixed.
        for place in 0..<64 { #expect(Set(secrets.map { $0[place] }).count > 4) }
    }
}
