import Foundation
import Platform
import Testing

/// A folder that is removed at the end of its test.
private final class Folder {
    let path: String
    init(_ tail: String = "") throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("sy-\(UUID().uuidString.prefix(8))").path + tail
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
}

private func mode(_ path: String) -> UInt32? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
}

/// Returns the fault of an attempt to listen at a file, or nil if it succeeds.
private func fault(_ path: String, owner: String? = nil, existing: StreamSocket.ExistingFile = .keptUnlessDead) throws -> ListenFault? {
    let address = try UnixAddress(path: path)
    do throws(ListenFault) {
        _ = try StreamSocket.listening(at: address, mode: 0o600, owner: owner, existing: existing)
        return nil
    } catch {
        return error
    }
}

/// Returns a connection to a port on the loopback address of the family.
private func connection(_ port: UInt16, family: Int32) -> Descriptor {
    let number = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    var storage = sockaddr_storage()
    let size = withUnsafeMutableBytes(of: &storage) { bytes in
        if family == AF_INET {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            withUnsafeBytes(of: address) { bytes.copyMemory(from: $0) }
            return MemoryLayout<sockaddr_in>.size
        }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        inet_pton(AF_INET6, "::1", &address.sin6_addr)
        withUnsafeBytes(of: address) { bytes.copyMemory(from: $0) }
        return MemoryLayout<sockaddr_in6>.size
    }
    let status = withUnsafePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(number, $0, socklen_t(size)) }
    }
    #expect(status == 0)
    return Descriptor(owning: number)
}

/// Returns the next connection of the socket as soon as there is one.
private func accepted(_ listener: borrowing Descriptor) throws -> Descriptor {
    var ready = pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0)
    poll(&ready, 1, -1)
    guard let connection = StreamSocket.accept(from: listener.number) else { throw SystemFault() }
    return connection
}

@Suite("A stream socket")
struct StreamSocketTests {
    @Test(
        "at a network address has the port that the system chose, and knows the address of its peer", arguments: ["127.0.0.1", "localhost"])
    func network(host: String) throws {
        let listener = try StreamSocket.listening(host: host, port: 0)
        let port = try #require(StreamSocket.port(of: listener.number))
        #expect(port > 0)
        let none = StreamSocket.accept(from: listener.number)?.number
        #expect(none == nil)
        let client = connection(port, family: AF_INET)
        let server = try accepted(listener)
        #expect(StreamSocket.peer(of: server.number) == "127.0.0.1")
        #expect(StreamSocket.port(of: client.number) != port)
        #expect(StreamSocket.peer(of: listener.number) == nil)
        #expect(fcntl(listener.number, F_GETFD) & FD_CLOEXEC != 0 && fcntl(server.number, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test("at an address of IPv6 knows the address of its peer")
    func version6() throws {
        let listener: Descriptor
        do throws(ListenFault) {
            listener = try StreamSocket.listening(host: "::1", port: 0)
        } catch {
            // This machine has no IPv6.
            return
        }
        let client = connection(try #require(StreamSocket.port(of: listener.number)), family: AF_INET6)
        let server = try accepted(listener)
        #expect(StreamSocket.peer(of: server.number) == "::1")
        #expect(StreamSocket.peer(of: client.number) == "::1")
    }

    @Test("says why it cannot listen at an address")
    func addressFaults() throws {
        let listener = try StreamSocket.listening(host: "127.0.0.1", port: 0)
        let port = try #require(StreamSocket.port(of: listener.number))
        let used = #expect(throws: ListenFault.self) { _ = try StreamSocket.listening(host: "127.0.0.1", port: port) }
        #expect(used?.description == "Address already in use; another process listens there")
        let name = #expect(throws: ListenFault.self) { _ = try StreamSocket.listening(host: "example.com", port: 0) }
        #expect(name.map { if case .host = $0 { true } else { false } } == true)
    }

    @Test("at a file has the mode that is asked for, and its peer has no network address", arguments: [UInt32(0o600), 0o660, 0o666])
    func file(_ bits: UInt32) throws {
        let folder = try Folder()
        let path = folder.path + "/s"
        let address = try UnixAddress(path: path)
        let listener = try StreamSocket.listening(at: address, mode: bits, existing: .keptUnlessDead)
        #expect(mode(path) == bits)
        let client = try StreamSocket.connected(to: address)
        let server = try accepted(listener)
        #expect(StreamSocket.peer(of: server.number) == nil && StreamSocket.port(of: server.number) == nil)
        #expect(StreamSocket.peer(of: client.number) == nil)
    }

    @Test("takes the place of a socket at which nobody listens, but of no other file, unless the name is its own")
    func occupants() throws {
        let folder = try Folder()
        let path = folder.path + "/s"
        #expect(try fault(path) == nil)
        // The socket was closed, and its file is still there.
        #expect(mode(path) != nil)
        #expect(try fault(path) == nil)
        let living = try StreamSocket.listening(at: try UnixAddress(path: path), mode: 0o600, existing: .keptUnlessDead)
        #expect(try fault(path) == .address(SystemFault(code: EADDRINUSE)))
        let client = try StreamSocket.connected(to: try UnixAddress(path: path))
        #expect(client.number != living.number)
        let text = folder.path + "/text"
        try Data("precious".utf8).write(to: URL(fileURLWithPath: text))
        #expect(try fault(text) == .address(SystemFault(code: EADDRINUSE)))
        #expect(FileManager.default.contents(atPath: text) == Data("precious".utf8))
        #expect(try fault(text, existing: .removed) == nil)
        #expect(FileManager.default.contents(atPath: text) == nil)
    }

    @Test("is removed if it cannot be given to its owner")
    func owners() throws {
        let path = try Folder().path + "/s"
        try FileManager.default.createDirectory(atPath: String(path.dropLast(2)), withIntermediateDirectories: true)
        #expect(try fault(path, owner: "no-such-user") == .noUser("no-such-user"))
        #expect(mode(path) == nil)
        #expect(try fault(path, owner: ":no-such-group") == .noGroup("no-such-group"))
        #expect(mode(path) == nil)
        try? FileManager.default.removeItem(atPath: String(path.dropLast(2)))
    }

    @Test("at a path that is longer than an address can be reached there")
    func longPath() throws {
        let folder = try Folder("/" + String(repeating: "long/", count: 40) + "end")
        let path = folder.path + "/s"
        let address = try UnixAddress(path: path)
        let listener = try StreamSocket.listening(at: address, mode: 0o600, existing: .keptUnlessDead)
        let client = try StreamSocket.connected(to: try UnixAddress(path: path))
        let server = try accepted(listener)
        #expect(server.number != client.number)
        #expect(mode(path) == 0o600)
        let missing = folder.path + "/missing/s"
        #expect(throws: UnixAddress.Fault.folder(SystemFault(code: ENOENT))) { _ = try UnixAddress(path: missing) }
        let long = folder.path + "/" + String(repeating: "s", count: 108)
        #expect(throws: UnixAddress.Fault.long) { _ = try UnixAddress(path: long) }
    }

    @Test("that another process opened is taken over only if it listens")
    func adoption() throws {
        let listener = try StreamSocket.listening(host: "127.0.0.1", port: 0)
        let copy = Descriptor(owning: dup(listener.number))
        #expect(fcntl(copy.number, F_GETFD) & FD_CLOEXEC == 0)
        #expect(StreamSocket.adopt(copy.number))
        #expect(fcntl(copy.number, F_GETFD) & FD_CLOEXEC != 0 && fcntl(copy.number, F_GETFL) & O_NONBLOCK != 0)
        let other = Descriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        #expect(!StreamSocket.adopt(other.number))
        #expect(!StreamSocket.adopt(-1))
    }
}
