// One end of the socket between the router and the process of a module. Each frame is sent whole, even if several threads send at the
// same time.

internal import Glibc
internal import Platform

final class Channel: Sendable {
    private let descriptor: Descriptor
    /// Serializes the sending of frames. The value is a number only because a value without a size would have the address of the object.
    /// Then the thread sanitizer would take a change of it for a change of the object.
    private let sending = Monitor(0)
    private let timeout: Duration?
    private let clock: Clock

    /// `timeout` is the maximum time that the other side may take to send one frame. It is nil if there is no limit.
    init(owning number: Int32, timeout: Duration? = nil, clock: Clock = .system) {
        descriptor = Descriptor(owning: number)
        self.timeout = timeout
        self.clock = clock
        // A batch fits into the buffer, so that the sender can go on while the receiver reads.
        var size: Int32 = 1 << 20
        setsockopt(number, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// False if other code of this process has closed the descriptor.
    var isOpen: Bool { fcntl(descriptor.number, F_GETFD) >= 0 }

    /// Makes a channel. Returns this process's end and the result of `body`. `body` passes the other end to a process that is not trusted
    /// to send whole frames.
    static func pair<R>(
        timeout: Duration? = nil, clock: Clock = .system, _ body: (Int32) throws(SystemFault) -> R
    ) throws(SystemFault) -> (Channel, R) {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else { throw SystemFault() }
        let channel = Channel(owning: ends[0], timeout: timeout, clock: clock)
        let theirs = Descriptor(owning: ends[1])
        return (channel, try body(theirs.number))
    }

    func send(_ kind: Frame.Kind, _ body: FrameBody) throws(SystemFault) {
        let bytes = body.bytes
        let sent = bytes.withUnsafeBytes { bytes in Result { () throws(SystemFault) in try send(kind, [bytes]) } }
        try sent.get()
    }

    /// Sends a frame. Its body consists of the pieces in their order.
    func send(_ kind: Frame.Kind, _ pieces: [UnsafeRawBufferPointer]) throws(SystemFault) {
        var head = FrameBody()
        let size = pieces.reduce(0) { $0 + $1.count }
        assert(size <= (kind.isToModule ? Frame.mostToModule : Frame.mostToHost), "the other side refuses a frame of this size")
        head.put(UInt32(size))
        head.put(kind.rawValue)
        let bytes = head.bytes
        let sent = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemFault) in try sending.withLock { _ throws(SystemFault) in try write([bytes] + pieces) } }
        }
        try sent.get()
    }

    /// Writes the pieces in one call if they fit, since each call wakes the other side. It raises no signal if the other side is gone.
    private func write(_ pieces: [UnsafeRawBufferPointer]) throws(SystemFault) {
        var rest = pieces.map { iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count) }[...]
        while let first = rest.first {
            if first.iov_len == 0 {
                rest.removeFirst()
                continue
            }
            var parts = Array(rest)
            let count = parts.withUnsafeMutableBufferPointer { parts in
                var message = msghdr()
                message.msg_iov = parts.baseAddress
                message.msg_iovlen = parts.count
                return sendmsg(descriptor.number, &message, Int32(MSG_NOSIGNAL))
            }
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw SystemFault()
            }
            var sent = count
            assert(sent <= rest.reduce(0) { $0 + $1.iov_len }, "more bytes were sent than there were")
            while sent > 0 {
                let part = min(sent, rest[rest.startIndex].iov_len)
                rest[rest.startIndex].iov_base += part
                rest[rest.startIndex].iov_len -= part
                sent -= part
                if rest[rest.startIndex].iov_len == 0 { rest.removeFirst() }
            }
        }
    }

    /// Waits for that many milliseconds at most, or without a limit if the number is -1. `frame` is true if there is something to receive,
    /// or the other side has ended. `other` is true if there is something to read from the other descriptor.
    func waitForFrame(or other: Int32, _ milliseconds: Int32) -> (frame: Bool, other: Bool) {
        var ready = [
            pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&ready, 2, milliseconds) > 0 else { return (false, false) }
        return (ready[0].revents != 0, ready[1].revents != 0)
    }

    /// Ends sending for both sides. Data that was sent before can still be received; after it comes the end.
    func hangUp() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

    /// Receives the next frame. It returns nil if the other side is gone.
    func receive(most: Int) throws(FrameFault) -> (kind: UInt32, payload: Payload)? {
        let head = Payload(size: Frame.headSize)
        let until = timeout.map { clock.now() + $0 }
        guard try fill(head, until) else { return nil }
        let size = UInt32(littleEndian: head.bytes.load(as: UInt32.self))
        let kind = UInt32(littleEndian: head.bytes.load(fromByteOffset: 4, as: UInt32.self))
        guard size <= most else { throw FrameFault(what: "a frame of \(size) bytes") }
        let payload = Payload(size: Int(size))
        return try fill(payload, until) ? (kind, payload) : nil
    }

    private func fill(_ payload: Payload, _ until: Instant?) throws(FrameFault) -> Bool {
        var offset = 0
        while offset < payload.memory.count {
            let (rest, size) = (payload.memory.baseAddress! + offset, payload.memory.count - offset)
            let count = until == nil ? read(descriptor.number, rest, size) : recv(descriptor.number, rest, size, Int32(MSG_DONTWAIT))
            if count == 0 { return false }
            assert(count <= size, "more bytes were received than there is space for")
            if count > 0 {
                offset += count
            } else if errno == EAGAIN, let until {
                var ready = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
                let left = max(0, (until - clock.now()).nanoseconds / 1_000_000 + 1)
                guard poll(&ready, 1, Int32(clamping: left)) != 0 else { throw FrameFault(what: "half a frame") }
            } else if errno != EINTR {
                return false
            }
            if let until, offset < payload.memory.count, clock.now() >= until { throw FrameFault(what: "half a frame") }
        }
        return true
    }
}
