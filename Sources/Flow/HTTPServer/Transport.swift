// Reads from the socket of a connection and writes to it, with or without TLS. Nothing blocks.

internal import CTLS
internal import Glibc

struct Transport {
    enum Outcome: Equatable {
        /// So many bytes were read or written, at least one.
        case bytes(Int)
        case blocked
        /// It waits until the socket can be written, whatever it was asked for.
        case blockedWriting
        /// The client has ended its side, or the connection is lost.
        case ended
    }

    let descriptor: Int32
    let session: ctls_session?

    /// Returns nil if there is no memory for TLS.
    static func make(_ descriptor: Int32, _ tls: TLSServer?) -> Transport? {
        guard let tls else { return Transport(descriptor: descriptor, session: nil) }
        guard let session = ctls_session_new(tls.server, descriptor) else { return nil }
        return Transport(descriptor: descriptor, session: session)
    }

    var isEncrypted: Bool { session != nil }

    /// True if the client presented a certificate that the configured authorities verify.
    var isTrusted: Bool { session.map { ctls_is_trusted($0) != 0 } ?? false }

    func read(into room: UnsafeMutableBufferPointer<UInt8>) -> Outcome {
        if let session { return Transport.outcome(ctls_read(session, room.baseAddress!, room.count)) }
        return plain(whenBlocked: .blocked) { recv(descriptor, room.baseAddress, room.count, 0) }
    }

    func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Outcome {
        if let session { return Transport.outcome(ctls_write(session, bytes.baseAddress!, bytes.count)) }
        return plain(whenBlocked: .blockedWriting) { send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Reads what the client still sends behind its last request, as it is on the wire.
    func readRest(into room: UnsafeMutableBufferPointer<UInt8>) -> Outcome {
        plain(whenBlocked: .blocked) { recv(descriptor, room.baseAddress, room.count, 0) }
    }

    /// Tells the client that no more bytes follow. What it sends can still be read.
    func endSending() {
        if let session { ctls_say_goodbye(session) }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes the socket. The transport must not be used any more.
    func close() {
        if let session {
            ctls_say_goodbye(session)
            ctls_session_free(session)
        }
        Glibc.close(descriptor)
    }

    private static func outcome(_ result: Int) -> Outcome {
        switch result {
        case 1...: .bytes(result)
        case Int(CTLS_BLOCKED): .blocked
        case Int(CTLS_BLOCKED_WRITING): .blockedWriting
        default: .ended
        }
    }

    private func plain(whenBlocked blocked: Outcome, _ call: () -> Int) -> Outcome {
        while true {
            let count = call()
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            if errno == EINTR { continue }
            return errno == EAGAIN ? blocked : .ended
        }
    }
}
