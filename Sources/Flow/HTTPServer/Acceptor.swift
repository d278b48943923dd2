// Accepts the connections of a listening socket. It keeps one descriptor in reserve: if the process has no other one left, it can still accept
// a connection with it, say why it is refused, and close it. Otherwise the client would wait without an answer.

internal import CPlatform
internal import Glibc

final class Acceptor {
    enum Result: Equatable {
        case connection(Int32)
        /// No connection waits.
        case none
        /// A connection waits, but the process or the system has no descriptor or no memory for it.
        case exhausted
    }

    private let socket: Int32
    /// Accepts as `accept4` does. Tests replace it.
    private let accept: @Sendable (Int32) -> Int32
    private var reserve: Int32

    init(_ socket: Int32, accept: @escaping @Sendable (Int32) -> Int32 = { cplatform_accept($0) }) {
        self.socket = socket
        self.accept = accept
        reserve = Acceptor.makeReserve()
    }

    deinit { if reserve >= 0 { close(reserve) } }

    func next() -> Result {
        while true {
            let descriptor = accept(socket)
            if descriptor >= 0 { return .connection(descriptor) }
            switch errno {
            // The client has left before it was accepted, or a filter of the system refused it.
            case EINTR, ECONNABORTED, EPROTO, EPERM: continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            default: return .none
            }
        }
    }

    /// Accepts the next connection with the descriptor in reserve, sends the text and closes it. Returns false if none waits, or if the
    /// reserve is gone.
    func refuse(_ text: [UInt8]) -> Bool {
        if reserve < 0 { reserve = Acceptor.makeReserve() }
        guard reserve >= 0 else { return false }
        close(reserve)
        reserve = -1
        let result = next()
        if case .connection(let descriptor) = result {
            text.withUnsafeBytes { _ = send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            shutdown(descriptor, Int32(SHUT_WR))
            // A socket that is closed with unread bytes is reset, and the reset could take the text from the client.
            withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) { _ = recv(descriptor, $0.baseAddress, $0.count, 0) }
            close(descriptor)
        }
        reserve = Acceptor.makeReserve()
        return result != .none && result != .exhausted
    }

    private static func makeReserve() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }
}
