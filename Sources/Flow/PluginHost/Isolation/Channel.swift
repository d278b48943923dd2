// One end of the socket between the router and the process of a module. Frames go out whole, whoever else is sending.

internal import Glibc
internal import Platform

final class Channel: Sendable {
    private let descriptor: Descriptor
    /// Of whole frames. A value of no size lies where the object begins, and the thread sanitizer takes its change for one of the object.
    private let sending = Monitor(0)
    private let patience: Duration?
    private let clock: Clock

    /// `patience`: how long the other side may take to send a frame, once it has begun; nil: for ever.
    init(owning number: Int32, patience: Duration? = nil, clock: Clock = .system) {
        descriptor = Descriptor(owning: number)
        self.patience = patience
        self.clock = clock
        // A batch fits: the sender goes on while the receiver reads.
        var size: Int32 = 1 << 20
        setsockopt(number, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// One end, for this process; the other one is lent to `body`, to be given to a process that is not trusted to send whole frames.
    static func pair<R>(
        patience: Duration? = nil, clock: Clock = .system, _ body: (Int32) throws(SystemFault) -> R
    ) throws(SystemFault) -> (Channel, R) {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else { throw SystemFault() }
        let channel = Channel(owning: ends[0], patience: patience, clock: clock)
        let theirs = Descriptor(owning: ends[1])
        return (channel, try body(theirs.number))
    }

    func send(_ kind: Frame.Kind, _ body: FrameBody) throws(SystemFault) {
        let bytes = body.bytes
        let sent = bytes.withUnsafeBytes { bytes in Result { () throws(SystemFault) in try send(kind, [bytes]) } }
        try sent.get()
    }

    /// The pieces one after the other are the body.
    func send(_ kind: Frame.Kind, _ pieces: [UnsafeRawBufferPointer]) throws(SystemFault) {
        var head = FrameBody()
        head.put(UInt32(pieces.reduce(0) { $0 + $1.count }))
        head.put(kind.rawValue)
        let bytes = head.bytes
        let sent = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemFault) in try sending.withLock { _ throws(SystemFault) in try write([bytes] + pieces) } }
        }
        try sent.get()
    }

    /// In one call where it fits, since each wakes the other side; without a signal when that is gone.
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
            while sent > 0 {
                let part = min(sent, rest[rest.startIndex].iov_len)
                rest[rest.startIndex].iov_base += part
                rest[rest.startIndex].iov_len -= part
                sent -= part
                if rest[rest.startIndex].iov_len == 0 { rest.removeFirst() }
            }
        }
    }

    /// What has come within that many milliseconds (-1: for ever): something to receive or the end of the other side, and something to
    /// read from another descriptor.
    func waitForFrame(or other: Int32, _ milliseconds: Int32) -> (frame: Bool, other: Bool) {
        var ready = [
            pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&ready, 2, milliseconds) > 0 else { return (false, false) }
        return (ready[0].revents != 0, ready[1].revents != 0)
    }

    /// Nothing more can be sent by either side. What was sent before can still be received, and behind it is the end.
    func hangUp() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

    /// Waits until the other side is gone, whatever it has sent before.
    func waitForEnd() {
        var ready = pollfd(fd: descriptor.number, events: 0, revents: 0)
        while poll(&ready, 1, -1) < 1 {}
    }

    /// The next frame; nil when the other side is gone.
    func receive(most: Int) throws(FrameFault) -> (kind: UInt32, payload: Payload)? {
        let head = Payload(size: Frame.headSize)
        let until = patience.map { clock.now() + $0 }
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
