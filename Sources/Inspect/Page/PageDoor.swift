// Who may use the page: links that each open it once, and the sessions that they give. It is a value, and time and random bytes are given to
// it. It promises that a link or session that it did not make, that has ended or that was used up opens nothing, that the number of both is
// bounded, and that the time of a comparison tells nothing about a secret. Nothing of it is stored, so a restart ends every session.

public import Platform

public struct PageDoor: Sendable {
    /// How long a link is valid.
    public static let linkLife = Duration.seconds(120)
    static let mostLinks = 4
    static let mostSessions = 8
    /// A session ends when it was not used for this time, and in any case after the longer one.
    static let idle = Duration.seconds(30 * 60)
    static let sessionLife = Duration.seconds(12 * 3600)
    /// After so many wrong links, all links that are open end.
    public static let mostWrong = 8
    /// The bytes of a secret.
    public static let secretBytes = 32

    public struct Session: Sendable, Equatable {
        /// What the browser sends as a cookie.
        public let cookie: [UInt8]
        /// What each request that changes something repeats.
        public let token: [UInt8]
        /// The user who asked for the link.
        public let user: UInt32?
        let began: Instant
        var used: Instant

        /// Returns true if the request repeats the token.
        public func has(token sent: String) -> Bool { PageDoor.isSame(Array(sent.utf8), token) }

        func isOver(at now: Instant) -> Bool { now - used >= PageDoor.idle || now - began >= PageDoor.sessionLife }
    }

    private struct Link {
        var code: [UInt8]
        var user: UInt32?
        var ends: Instant
    }

    private var links: [Link] = []
    private var sessions: [Session] = []
    /// The number of wrong links since the last one was made.
    public private(set) var wrong = 0

    public init() {}

    /// The number of sessions that are open.
    public var openSessions: Int { sessions.count }

    /// Adds a link. The oldest one ends if there are too many.
    public mutating func add(link code: [UInt8], by user: UInt32?, at now: Instant) {
        assert(code.count >= 16, "the code of a link is easy to guess")
        links.removeAll { $0.ends <= now }
        if links.count == PageDoor.mostLinks { links.removeFirst() }
        links.append(Link(code: code, user: user, ends: now + PageDoor.linkLife))
        wrong = 0
    }

    /// Uses a link up, and returns the session that it opens. Returns nil if there is no such link.
    public mutating func enter(_ code: String, cookie: [UInt8], token: [UInt8], at now: Instant) -> Session? {
        assert(cookie.count >= 16 && token.count >= 16, "the secrets of a session are easy to guess")
        var found: Int?
        for (index, link) in links.enumerated() where link.ends > now && PageDoor.isSame(Array(code.utf8), link.code) { found = index }
        guard let found else {
            wrong += 1
            if wrong >= PageDoor.mostWrong { links = [] }
            return nil
        }
        let link = links.remove(at: found)
        sessions.removeAll { $0.isOver(at: now) }
        if sessions.count == PageDoor.mostSessions { sessions.removeFirst() }
        let session = Session(cookie: cookie, token: token, user: link.user, began: now, used: now)
        sessions.append(session)
        return session
    }

    /// Returns the session of a cookie, which it prolongs. Returns nil if there is none.
    public mutating func session(_ cookie: String?, at now: Instant) -> Session? {
        sessions.removeAll { $0.isOver(at: now) }
        guard let cookie else { return nil }
        let sent = Array(cookie.utf8)
        var found: Int?
        for (index, session) in sessions.enumerated() where PageDoor.isSame(sent, session.cookie) { found = index }
        guard let found else { return nil }
        sessions[found].used = now
        return sessions[found]
    }

    /// Ends one session.
    public mutating func end(_ session: Session) { sessions.removeAll { $0.cookie == session.cookie } }

    /// Ends all links and sessions. Returns the number of sessions that were open.
    public mutating func endAll(at now: Instant) -> Int {
        sessions.removeAll { $0.isOver(at: now) }
        defer { (links, sessions) = ([], []) }
        return sessions.count
    }

    /// Compares two secrets. The time depends only on the length of the sent one.
    static func isSame(_ sent: [UInt8], _ secret: [UInt8]) -> Bool {
        assert(!secret.isEmpty, "an empty secret protects nothing")
        var difference = sent.count ^ secret.count
        for index in sent.indices { difference |= Int(sent[index] ^ secret[index % secret.count]) }
        return difference == 0
    }

    /// Returns a new secret as text: random bytes of the system in hexadecimal digits.
    public static func secret() -> [UInt8] {
        var system = SystemRandomNumberGenerator()
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for _ in 0..<secretBytes {
            let byte = UInt8.random(in: 0 ... .max, using: &system)
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return text
    }
}
