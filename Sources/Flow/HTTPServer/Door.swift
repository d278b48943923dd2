// Whether a server accepts connections: it does, it waits until a time, or it never will again.

internal import Glibc
internal import Platform

struct Door {
    private enum State {
        case open
        case closed(until: Instant)
        case shut
    }
    private var state = State.closed(until: Instant(nanoseconds: 0))
    let acceptor: Acceptor
    /// True if there was no descriptor for the last connection that waited.
    var wasExhausted = false

    init(_ options: HTTPServer.Options) {
        acceptor = options.accept.map { Acceptor(options.socket, accept: $0) } ?? Acceptor(options.socket)
        // A reply is one write, so nothing is gained by waiting for more bytes. Accepted sockets inherit this.
        var on: Int32 = 1
        setsockopt(options.socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    var isOpen: Bool { if case .open = state { true } else { false } }

    var isShut: Bool { if case .shut = state { true } else { false } }

    /// The time at which it opens again. It is nil if it is open, or shut for ever.
    var opensAt: Instant? { if case .closed(let time) = state { time } else { nil } }

    /// Returns false if it is shut for ever.
    mutating func open() -> Bool {
        if case .shut = state { return false }
        state = .open
        return true
    }

    mutating func close(until time: Instant) {
        if case .shut = state { return }
        state = .closed(until: time)
    }

    mutating func shut() { state = .shut }
}
