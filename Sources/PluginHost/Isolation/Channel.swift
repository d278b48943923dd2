// One end of the socket between the router and the process of a module. Frames go out whole, whoever else is sending.

internal import Glibc
internal import Platform

final class Channel: Sendable {
    private let descriptor: Descriptor
    private let sending = Monitor(())

    /// `patience`: how many seconds the other side may take between two parts of a frame; 0: for ever.
    init(owning number: Int32, patience: Int = 0) {
        descriptor = Descriptor(owning: number)
        var time = timeval(tv_sec: patience, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        // A batch fits: the sender goes on while the receiver reads.
        var size: Int32 = 1 << 20
        setsockopt(number, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// One end, for this process; the other one is lent to `body`, to be given to a process that is not trusted to send whole frames.
    static func pair<R>(patience: Int = 0, _ body: (Int32) throws(SystemFault) -> R) throws(SystemFault) -> (Channel, R) {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else { throw SystemFault() }
        let channel = Channel(owning: ends[0], patience: patience)
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

    enum Arrival { case frame, other, nothing }

    /// What comes first within that many milliseconds (-1: for ever): something to receive or the end of the other side, or something to
    /// read from another descriptor.
    func waitForFrame(or other: Int32, _ milliseconds: Int32) -> Arrival {
        var ready = [
            pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&ready, 2, milliseconds) > 0 else { return .nothing }
        return ready[0].revents != 0 ? .frame : .other
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
        guard try fill(head) else { return nil }
        let size = UInt32(littleEndian: head.bytes.load(as: UInt32.self))
        let kind = UInt32(littleEndian: head.bytes.load(fromByteOffset: 4, as: UInt32.self))
        guard size <= most else { throw FrameFault(what: "a frame of \(size) bytes") }
        let payload = Payload(size: Int(size))
        return try fill(payload) ? (kind, payload) : nil
    }

    private func fill(_ payload: Payload) throws(FrameFault) -> Bool {
        var offset = 0
        while offset < payload.memory.count {
            let count = read(descriptor.number, payload.memory.baseAddress! + offset, payload.memory.count - offset)
            if count == 0 { return false }
            if count > 0 {
                offset += count
            } else if errno == EAGAIN {
                throw FrameFault(what: "half a frame")
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
