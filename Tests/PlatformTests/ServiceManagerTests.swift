// Tests what the service tells systemd, and which sockets it takes over. The address of systemd is in the environment of the process, so
// these tests run in processes of their own.

import Glibc
import Testing

@testable import Platform

/// A socket that receives as systemd does. A message that was sent is in its queue at once, so no read waits.
private final class Receiver {
    let socket: Descriptor

    init(_ name: [UInt8]) throws {
        let number = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw SystemFault() }
        socket = Descriptor(owning: number)
        guard let address = UnixAddress(name: name), address.withPointer({ bind(number, $0, $1) }) == 0 else { throw SystemFault() }
    }

    func next() -> String? {
        var text = [UInt8](repeating: 0, count: 256)
        let count = recv(socket.number, &text, text.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: text[..<count], as: UTF8.self)
    }

    /// Fills the queue, and returns the number of messages in it.
    func fill(_ name: [UInt8]) throws -> Int {
        let sender = Descriptor(owning: Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
        let address = try #require(UnixAddress(name: name))
        var count = 0
        while address.withPointer({ sendto(sender.number, "x", 1, Int32(MSG_DONTWAIT), $0, $1) }) == 1 { count += 1 }
        return count
    }
}

@Suite("The service manager")
struct ServiceManagerTests {
    @Test("gets a state, at a path and at an abstract name")
    func states() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            let folder = try TestFolder()
            let abstract = "switchyard-test-\(getpid())"
            let names = [(folder["notify"], Array(folder["notify"].utf8)), ("@" + abstract, [0] + Array(abstract.utf8))]
            for (variable, name) in names {
                let receiver = try Receiver(name)
                setenv("NOTIFY_SOCKET", variable, 1)
                #expect(ServiceManager.notify("READY=1"))
                #expect(ServiceManager.notify("STOPPING=1"))
                #expect(receiver.next() == "READY=1")
                #expect(receiver.next() == "STOPPING=1")
                #expect(receiver.next() == nil)
            }
        }
    }

    @Test("gets nothing without an address, at an address of another form, and where nobody receives")
    func nobody() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            let folder = try TestFolder()
            unsetenv("NOTIFY_SOCKET")
            #expect(!ServiceManager.notify("READY=1"))
            try folder.put("file", "")
            let long = "/" + String(repeating: "x", count: UnixAddress.most)
            for variable in ["", "notify", "vsock:2:1", folder["missing"], folder["file"], "@switchyard-nobody-\(getpid())", long] {
                setenv("NOTIFY_SOCKET", variable, 1)
                #expect(!ServiceManager.notify("READY=1"), "\(variable)")
            }
            #expect(try folder.text("file") == "")
        }
    }

    @Test("cannot stop the service by leaving its queue full")
    func full() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            let folder = try TestFolder()
            let name = Array(folder["notify"].utf8)
            let receiver = try Receiver(name)
            setenv("NOTIFY_SOCKET", folder["notify"], 1)
            let count = try receiver.fill(name)
            #expect(count > 0)
            #expect(!ServiceManager.notify("READY=1", timeout: .milliseconds(1)))
            #expect(!ServiceManager.notify("READY=1", timeout: .zero), "a timeout of zero must not mean none")
            for _ in 0..<count { #expect(receiver.next() == "x") }
            #expect(receiver.next() == nil)
        }
    }

    @Test("gets a state that waited for space in its queue and was interrupted by signals")
    func interrupted() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            let folder = try TestFolder()
            let name = Array(folder["notify"].utf8)
            let receiver = try Receiver(name)
            setenv("NOTIFY_SOCKET", folder["notify"], 1)
            let count = try receiver.fill(name)
            let sender = try InterruptedThread { ServiceManager.notify("READY=1", timeout: .seconds(3600)) }
            for _ in 0..<3 { try sender.interrupt() }
            for _ in 0..<count { #expect(receiver.next() == "x") }
            #expect(sender.value())
            #expect(receiver.next() == "READY=1")
        }
    }
}

@Suite("Sockets that systemd opened")
struct InheritedTests {
    private func inherited(_ variables: [String: String], first: Int32 = 3) -> [ServiceManager.Inherited] {
        ServiceManager.inherited({ variables[$0] }, process: 77, first: first)
    }

    @Test("have the numbers from the first on, and their names")
    func names() {
        #expect(
            inherited(["LISTEN_PID": "77", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "http::admin:more"])
                == [.init(descriptor: 3, name: "http"), .init(descriptor: 4, name: ""), .init(descriptor: 5, name: "admin")])
        #expect(inherited(["LISTEN_PID": "77", "LISTEN_FDS": "1"], first: 40) == [.init(descriptor: 40, name: "")])
        #expect(inherited(["LISTEN_PID": "77", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "a"]).map(\.name) == ["a", ""])
    }

    @Test(
        "are none if they are for another process, or if their number makes no sense",
        arguments: [("78", "1"), ("", "1"), ("77", "0"), ("77", "-1"), ("77", "1001"), ("77", "x"), ("77", ""), ("77", "99999999999")])
    func none(process: String, count: String) {
        #expect(inherited(["LISTEN_PID": process, "LISTEN_FDS": count]) == [])
        #expect(inherited([:]) == [])
    }

    @Test("may be a thousand, and are for this process if no other is named")
    func own() {
        #expect(inherited(["LISTEN_PID": "77", "LISTEN_FDS": "1000"]).last?.descriptor == 1002)
        let own = ServiceManager.inherited { ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "1"][$0] }
        #expect(own == [.init(descriptor: 3, name: "")])
    }
}
