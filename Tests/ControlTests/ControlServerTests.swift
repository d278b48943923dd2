import Foundation
import Glibc
import Platform
import Testing

@testable import Control

/// A folder that is removed at the end of its test.
private final class Folder {
    let path: String
    init(_ tail: String = "") {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("control-\(UUID().uuidString)").path + tail
        try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
}

private func connection(_ path: String) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let result = withUnsafeBytes(of: address) { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { connect(number, $0.baseAddress!, socklen_t(bytes.count)) }
    }
    #expect(result == 0)
    return number
}

private func readAll(_ number: Int32) -> String {
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1000)
    while true {
        let count = read(number, &chunk, chunk.count)
        if count <= 0 { return String(decoding: text, as: UTF8.self) }
        text += chunk[..<count]
    }
}

@Suite("The control socket")
struct ControlServerTests {
    @Test("answers requests, is for its owner alone, and is removed with its router")
    func answers() throws {
        let folder = Folder()
        let server = try ControlServer(folder: folder.path) { request, answer in
            answer(Response(200, type: "text/plain", "\(request.method) \(request.path)"))
        }
        server.start()
        var status = stat()
        #expect(stat(server.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        for _ in 0..<3 {
            let answer = try ControlClient.ask(folder: folder.path, Request(method: "GET", path: "/status"))
            #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == "GET /status")
        }
        server.close()
        #expect(access(server.path, F_OK) != 0)
        #expect(throws: ControlFault.self) { try ControlClient.ask(folder: folder.path, Request(method: "GET", path: "/status")) }
    }

    @Test("ticks again and again, also while nobody asks")
    func ticks() throws {
        let count = Monitor(0)
        let ticks = ControlServer.Ticks(every: .milliseconds(1)) {
            count.withLock { $0 += 1 }
            count.wake()
        }
        let server = try ControlServer(host: "127.0.0.1", port: 0, ticks: ticks) { _, answer in answer(Response(200, "{}")) }
        server.start()
        count.wait(while: { $0 < 3 })
        server.close()
    }

    @Test("says which user asks, whatever the client claims; at an address nobody knows")
    func users() throws {
        @Sendable func answer(_ request: Request, _ answer: (Response) -> Void) {
            answer(Response(200, type: "text/plain", request.user.map { "\($0)" } ?? "nobody knows"))
        }
        let folder = Folder()
        let server = try ControlServer(folder: folder.path) { answer($0, $1) }
        server.start()
        defer { server.close() }
        var request = Request(method: "GET", path: "/status")
        request.user = geteuid() + 1
        let body = try ControlClient.ask(folder: folder.path, request).body
        #expect(String(decoding: body, as: UTF8.self) == "\(geteuid())")

        let open = try ControlServer(host: "127.0.0.1", port: 0) { answer($0, $1) }
        open.start()
        defer { open.close() }
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = try #require(open.port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafeBytes(of: address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { connect(client, $0.baseAddress!, socklen_t(bytes.count)) }
        }
        #expect(result == 0)
        let text = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        #expect(write(client, text, text.count) == text.count)
        #expect(readAll(client).hasSuffix("nobody knows"))
    }

    @Test("does not spin while it cannot accept a connection, and accepts it when it can")
    func exhausted() throws {
        let folder = Folder()
        let time = Monitor<Int64>(1_000_000_000_000)
        let attempts = Monitor<[Int64]>([])
        let clock = Clock(now: { Instant(nanoseconds: time.withLock { $0 }) }, wall: { time.withLock { $0 } })
        let server = try ControlServer(
            folder: folder.path, clock: clock, timeout: .seconds(600),
            accept: { listener in
                let count = attempts.withLock { attempts in
                    attempts.append(time.withLock { $0 })
                    return attempts.count
                }
                return count <= 3 ? nil : StreamSocket.accept(from: listener)
            },
            handler: { _, answer in answer(Response(200, type: "text/plain", "here")) })
        server.start()
        let client = connection(server.path)
        let request = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        #expect(write(client, request, request.count) == request.count)
        while attempts.withLock({ $0.count < 4 }) {
            time.withLock { $0 += 1_000_000 }
            sched_yield()
        }
        #expect(readAll(client).hasSuffix("here"))
        close(client)
        let times = attempts.withLock { $0 }
        for (one, next) in zip(times, times.dropFirst()) { #expect(next - one >= ControlServer.pause.nanoseconds) }
        server.close()
    }

    @Test("receives a body and returns another one")
    func bodies() throws {
        let folder = Folder()
        let server = try ControlServer(folder: folder.path) { request, answer in
            answer(Response(200, type: "text/plain", request.body.reversed()))
        }
        server.start()
        let body = (0..<Request.mostBody).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let answer = try ControlClient.ask(folder: folder.path, Request(method: "POST", path: "/x", body: body))
        #expect(answer.status == 200 && answer.body == body.reversed())
        server.close()
    }

    /// Watches a folder for new names.
    private final class FolderEvents {
        private let number = inotify_init1(Int32(IN_NONBLOCK))
        init(_ folder: String) { #expect(inotify_add_watch(number, folder, UInt32(IN_CREATE | IN_MOVED_TO)) >= 0) }
        deinit { close(number) }

        /// Returns the new names. The value is true if a complete file was renamed to the name, and false if the file was made under it.
        func names() -> [String: Bool] {
            var bytes = [UInt8](repeating: 0, count: 4096)
            var names: [String: Bool] = [:]
            while case let count = read(number, &bytes, bytes.count), count > 0 {
                bytes[..<count].withUnsafeBytes { all in
                    var offset = 0
                    while offset < count {
                        let event = all.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                        let start = offset + MemoryLayout<inotify_event>.size
                        let name = all[start..<start + Int(event.len)].prefix { $0 != 0 }
                        names[String(decoding: name, as: UTF8.self)] = event.mask & UInt32(IN_MOVED_TO) != 0
                        offset = start + Int(event.len)
                    }
                }
            }
            return names
        }
    }

    @Test("gets its name only when it takes connections, so a client that waits for the name can connect at once")
    func namedWhenReady() throws {
        let folder = Folder()
        let events = FolderEvents(folder.path)
        let server = try ControlServer(folder: folder.path) { _, answer in answer(Response(200, "ready")) }
        #expect(events.names() == ["control.sock.new": false, "control.sock": true])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["control.sock"])
        server.start()
        server.close()
    }

    @Test("replaces a socket that a killed router left behind")
    func leftBehind() throws {
        let folder = Folder()
        let first = try ControlServer(folder: folder.path) { _, answer in answer(Response(200, "first")) }
        let second = try ControlServer(folder: folder.path) { _, answer in answer(Response(200, "second")) }
        second.start()
        let answer = try ControlClient.ask(folder: folder.path, Request(method: "GET", path: "/"))
        #expect(String(decoding: answer.body, as: UTF8.self) == "second")
        second.close()
        withExtendedLifetime(first) {}
    }

    @Test("works in a folder whose path is too long for the address of a socket")
    func longPath() throws {
        let folder = Folder("/" + String(repeating: "long/", count: 40))
        let server = try ControlServer(folder: folder.path) { _, answer in answer(Response(200, "here")) }
        server.start()
        let answer = try ControlClient.ask(folder: folder.path, Request(method: "GET", path: "/"))
        #expect(answer.status == 200)
        server.close()
    }

    @Test("serves others while some clients are silent, and closes silent connections when their time is up")
    func silent() throws {
        // With a short time, silent connections end sooner. But on a busy machine the shortest time also ends the client that asks.
        for timeout in [50, 1000, 20_000] {
            let folder = Folder()
            let server = try ControlServer(folder: folder.path, timeout: .milliseconds(timeout)) { _, answer in
                answer(Response(200, "ok"))
            }
            server.start()
            // These are more than it serves at once. The last ones wait until the time of the first ones is up.
            let silent = (0..<40).map { _ in connection(server.path) }
            let answer = try? ControlClient.ask(folder: folder.path, Request(method: "GET", path: "/"), timeout: .seconds(600))
            let said = readAll(silent[0])
            for number in silent { close(number) }
            server.close()
            if answer?.status != 200, timeout < 20_000 { continue }
            #expect(answer?.status == 200)
            #expect(said.hasPrefix("HTTP/1.1 408 "))
            break
        }
    }

    @Test("serves others while an answer takes long, and accepts an answer for a client that has gone")
    func slowAnswer() throws {
        let folder = Folder()
        let held = Monitor<[@Sendable (Response) -> Void]>([])
        let server = try ControlServer(folder: folder.path) { request, answer in
            if request.path == "/slow" {
                held.withLock { $0.append(answer) }
                held.wake()
            } else {
                answer(Response(200, "fast"))
            }
        }
        server.start()
        let patient = connection(server.path)
        let leaver = connection(server.path)
        for number in [patient, leaver] {
            let request = Array("GET /slow HTTP/1.1\r\n\r\n".utf8)
            #expect(write(number, request, request.count) == request.count)
        }
        held.wait(while: { $0.count < 2 })
        close(leaver)
        #expect(try ControlClient.ask(folder: folder.path, Request(method: "GET", path: "/fast"), timeout: nil).status == 200)
        for answer in held.withLock({ $0 }) { answer(Response(200, "at last")) }
        #expect(readAll(patient).hasSuffix("at last"))
        close(patient)
        server.close()
    }

    @Test("survives random bytes")
    func nonsense() throws {
        let folder = Folder()
        let server = try ControlServer(folder: folder.path) { _, answer in answer(Response(200, "ok")) }
        server.start()
        var chance = SystemRandomNumberGenerator()
        for _ in 0..<50 {
            let number = connection(server.path)
            let bytes = (0..<Int.random(in: 1...20_000, using: &chance)).map { _ in UInt8.random(in: 0...255, using: &chance) }
            _ = send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            close(number)
        }
        #expect(try ControlClient.ask(folder: folder.path, Request(method: "GET", path: "/"), timeout: nil).status == 200)
        server.close()
    }
}
