// Sends a request to a running router over its control socket and reads the answer.

internal import Glibc
public import Platform

public enum ControlClient {
    static let mostAnswer = 64 << 20

    /// Asks the router that has the folder. `timeout` is how long it may be silent. Nil means no limit.
    public static func ask(folder: String, _ request: Request, timeout: Duration? = .seconds(10), clock: Clock = .system)
        throws(ControlFault)
        -> (status: Int, body: [UInt8])
    {
        let place = try SocketPlace.address(in: folder, name: SocketPlace.name)
        let descriptor = try connection(to: place)
        let target = request.path + (request.query.isEmpty ? "" : "?" + request.query)
        let length = request.body.count
        let head = "\(request.method) \(target) HTTP/1.1\r\nHost: switchyard\r\nContent-Length: \(length)\r\nConnection: close\r\n\r\n"
        let text = Array(head.utf8) + request.body
        do throws(SystemFault) {
            try text.withUnsafeBufferPointer { (bytes) throws(SystemFault) in try descriptor.write(UnsafeRawBufferPointer(bytes)) }
        } catch {
            throw ControlFault(.unanswered, "\(place.path): the router closed the connection: \(error)")
        }
        return try answer(from: descriptor, place.path, timeout: timeout, clock: clock)
    }

    private static func connection(to place: UnixAddress) throws(ControlFault) -> Descriptor {
        do throws(SystemFault) {
            return try StreamSocket.connected(to: place)
        } catch {
            let isNobody = [ENOENT, ECONNREFUSED, ENOTDIR].contains(error.code)
            throw ControlFault(isNobody ? .nobody : .failed, "\(place.path): \(error)")
        }
    }

    private static func answer(from descriptor: borrowing Descriptor, _ path: String, timeout: Duration?, clock: Clock)
        throws(ControlFault)
        -> (status: Int, body: [UInt8])
    {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        var deadline = timeout.map { clock.now() + $0 }
        while true {
            var ready = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            let left = deadline.map { Int32(clamping: max(0, ($0 - clock.now()).nanoseconds / 1_000_000 + 1)) } ?? -1
            let count = poll(&ready, 1, left)
            if count == 0, let deadline, clock.now() >= deadline {
                throw ControlFault(.unanswered, "\(path): the router does not answer")
            }
            guard count > 0 else { continue }
            let read = Glibc.read(descriptor.number, &chunk, chunk.count)
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { break }
            bytes += chunk[..<read]
            guard bytes.count <= mostAnswer else { throw ControlFault(.unanswered, "\(path): the answer is too long") }
            deadline = timeout.map { clock.now() + $0 }
        }
        return try parse(bytes, path)
    }

    static func parse(_ bytes: [UInt8], _ path: String) throws(ControlFault) -> (status: Int, body: [UInt8]) {
        let end: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a]
        guard let split = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else {
            throw ControlFault(.unanswered, "\(path): the router closed the connection without an answer")
        }
        let head = String(decoding: bytes[..<split], as: UTF8.self)
        let words = head.prefix(while: { $0 != "\r\n" && $0 != "\r" }).split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw ControlFault(.unanswered, "\(path): the answer is invalid; is this the socket of a router?")
        }
        return (status, Array(bytes[(split + end.count)...]))
    }
}
