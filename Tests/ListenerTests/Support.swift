// A listener with a sink that records what it receives, and a client that sends and receives raw bytes.

import Events
import Foundation
import Ingest
import Plans
import Platform
import TestSupport
import Testing

@testable import Listener

/// Returns the lines of a buffer. The last line must be terminated.
func linesOf(_ buffer: consuming ByteBuffer) -> [String] {
    // The bytes live only as long as the buffer, which is destroyed after its last use.
    let bytes = Array(buffer.bytes)
    buffer.removeAll()
    precondition(bytes.isEmpty || bytes.last == 0x0a)
    return bytes.split(separator: 0x0a, omittingEmptySubsequences: false).dropLast().map { String(decoding: $0, as: UTF8.self) }
}

/// A sink that records what it receives, and answers at once or when it is told to.
final class FakeSink: EventSink {
    struct State {
        var taken: [[String]] = []
        var keys: [Int] = []
        var held: [@Sendable (Submission) -> Void] = []
        var isFull = false
        var holds = false
        /// True for each request whose thread promised to call `judgeOffers`.
        var offers: [Bool] = []
        /// True if held requests are answered when their thread calls `judgeOffers`.
        var answersOffers = false
        var submission = Submission.stored(invalid: [])
    }
    let state = Monitor(State())

    func submit(
        _ lines: consuming ByteBuffer, from submitter: Submitter, answer: @escaping @Sendable (Submission) -> Void
    ) -> Bool {
        let taken = linesOf(lines)
        let now: Submission? = state.withLock { state in
            if state.isFull { return .overloaded(retryAfter: -1) }
            state.taken.append(taken)
            state.keys.append(submitter.key)
            state.offers.append(submitter.offers)
            if state.holds {
                state.held.append(answer)
                return nil
            }
            guard case .stored(let invalid) = state.submission else { return state.submission }
            return .stored(invalid: invalid.map { InvalidLine(line: $0.line, message: submitter.reasons[$0.line] ?? $0.message) })
        }
        state.wake()
        if case .overloaded(-1) = now { return false }
        if let now { answer(now) }
        return true
    }

    func judgeOffers() {
        if state.withLock({ $0.answersOffers }) { release(.stored(invalid: [])) }
    }

    /// The number of the key of each request. It is 0 if the key limits nothing.
    var keys: [Int] { state.withLock { $0.keys } }
    var lines: [String] { state.withLock { $0.taken.flatMap { $0 } } }

    func waitForHeld(_ count: Int) { state.wait { $0.held.count < count } }

    func release(_ submission: Submission) {
        for answer in state.withLock({ state in
            defer { state.held = [] }
            return state.held
        }) { answer(submission) }
    }
}

struct Answer: Equatable {
    var status: Int
    var headers: [String: String]
    var body: String
}

final class TestClient {
    let descriptor: Int32
    private var buffer: [UInt8] = []

    init(_ address: ListenAddress, receiveBuffer: Int32? = nil) throws {
        descriptor = try #require(TestClient.connected(address, receiveBuffer))
        // No test waits for ever.
        var timeout = timeval(tv_sec: 600, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    static func connects(_ address: ListenAddress) -> Bool {
        guard let descriptor = connected(address, nil) else { return false }
        close(descriptor)
        return true
    }

    private static func connected(_ address: ListenAddress, _ receiveBuffer: Int32?) -> Int32? {
        let descriptor: Int32
        let status: Int32
        switch address {
        case .tcp(_, let port):
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            if var size = receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4) }
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = port.bigEndian
            place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            status = withUnsafePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
            }
        case .unix(let path):
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var place = sockaddr_un()
            place.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            status = withUnsafePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
        case .inherited: return nil
        }
        if status == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    /// Sends the bytes. Returns how many of them were sent before the other side ended the connection.
    @discardableResult func send(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { break }
            sent += count
        }
        return sent
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func post(_ body: [UInt8], _ headers: [String] = [], to path: String = "/v1/events") {
        let head = ["POST \(path) HTTP/1.1", "Host: x", "Content-Length: \(body.count)"] + headers
        send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    }

    func post(_ body: String, _ headers: [String] = [], to path: String = "/v1/events") { post(Array(body.utf8), headers, to: path) }

    private func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &piece, piece.count, 0)
        if count <= 0 { return false }
        buffer += piece[..<count]
        return true
    }

    /// Returns the next answer, or nil if the connection ended first.
    func answer(head isHead: Bool = false) -> Answer? {
        while true {
            if let end = firstBlankLine() {
                let lines = String(decoding: buffer[..<end], as: UTF8.self).components(separatedBy: "\r\n")
                guard let status = lines[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
                var headers: [String: String] = [:]
                for line in lines.dropFirst() {
                    guard let colon = line.firstIndex(of: ":") else { continue }
                    headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                }
                let length = isHead || status < 200 || status == 204 ? 0 : Int(headers["content-length"] ?? "0")!
                while buffer.count < end + 4 + length { if !fill() { return nil } }
                let body = String(decoding: buffer[(end + 4)..<(end + 4 + length)], as: UTF8.self)
                buffer.removeFirst(end + 4 + length)
                return Answer(status: status, headers: headers, body: body)
            }
            if !fill() { return nil }
        }
    }

    private func firstBlankLine() -> Int? {
        guard buffer.count >= 4 else { return nil }
        return (0...(buffer.count - 4)).first { buffer[$0] == 13 && buffer[$0 + 1] == 10 && buffer[$0 + 2] == 13 && buffer[$0 + 3] == 10 }
    }

    /// Returns true if the other side ends the connection without a further byte.
    func ends() -> Bool {
        if !buffer.isEmpty { return false }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        return count == 0 || (count < 0 && errno == ECONNRESET)
    }
}

/// Returns a plan with a port of its own.
func listening(_ change: (inout HTTPSourcePlan) -> Void = { _ in }) -> HTTPSourcePlan {
    var plan = HTTPSourcePlan()
    plan.listen = .tcp(host: "127.0.0.1", port: 0)
    change(&plan)
    return plan
}

/// Runs the body with a listener, and then stops the listener.
func withListener(
    _ plan: HTTPSourcePlan = listening(), services: [any Service]? = nil, clock: Clock = .system,
    _ body: (HTTPListener, FakeSink, ListenAddress) throws -> Void
) throws {
    let sink = FakeSink()
    let listener = HTTPListener(name: "http", plan: plan, source: 0, services: services, sink: sink, clock: clock)
    try listener.start()
    let address = try #require(listener.address)
    var fault: (any Error)?
    do { try body(listener, sink, address) } catch { fault = error }
    sink.release(.closing)
    listener.stop(within: .seconds(600))
    #expect(listener.counts.memory == 0)
    if let fault { throw fault }
}

func compressed(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] { Compression.deflated(bytes, windowBits: windowBits) }

func gzipped(_ bytes: [UInt8]) -> [UInt8] { Compression.deflated(bytes) }

func zstandard(_ bytes: [UInt8]) -> [UInt8] { Compression.zstd(bytes) }

/// Returns a brotli stream that holds the bytes in one uncompressed piece, so that the tests need no encoder.
func brotliStored(_ bytes: [UInt8]) -> [UInt8] {
    precondition(bytes.count <= 65536)
    // WBITS 16 (bit 0), ISLAST 0, MNIBBLES 4 (00), MLEN-1 in 16 bits, ISUNCOMPRESSED 1; then the bytes; then an empty last piece.
    var bits = 0
    var count = 0
    func put(_ value: Int, _ width: Int) {
        bits |= value << count
        count += width
    }
    put(0, 1)
    put(0, 1)
    put(0, 2)
    put(bytes.count - 1, 16)
    put(1, 1)
    let head = (0..<((count + 7) / 8)).map { UInt8(bits >> (8 * $0) & 0xff) }
    return head + bytes + [0x03]
}
