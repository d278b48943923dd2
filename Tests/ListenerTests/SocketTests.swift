import Foundation
import Ingest
import Plans
import Platform
import Testing

@testable import Listener

@Suite struct SocketTests {
    private func folder() throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("sy-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    private func mode(_ path: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? Int
    }

    private func listener(_ change: (inout HTTPSourcePlan) -> Void, inherited: [ServiceManager.Inherited] = []) -> HTTPListener {
        var plan = HTTPSourcePlan()
        plan.listen = .tcp(host: "127.0.0.1", port: 0)
        change(&plan)
        return HTTPListener(name: "in", plan: plan, source: 0, sink: FakeSink(), inherited: inherited)
    }

    @Test func `A Unix socket has the configured mode, serves requests, and is removed at the end`() throws {
        let path = try folder() + "/in.sock"
        for mode in [UInt32(0o600), 0o660, 0o666] {
            try withListener(
                listening {
                    $0.listen = .unix(path: path)
                    $0.mode = mode
                }
            ) { _, _, address in
                #expect(self.mode(path) == Int(mode))
                let client = try TestClient(address)
                client.post("{}")
                #expect(client.answer()?.status == 200)
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `A socket that a killed process left is taken over, but not one in use and not a file`() throws {
        let path = try folder() + "/in.sock"
        let left = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let status = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(left, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        #expect(status == 0)
        close(left)
        try withListener(listening { $0.listen = .unix(path: path) }) { _, _, _ in
            let fault = #expect(throws: ListenerFault.self) { try listener { $0.listen = .unix(path: path) }.start() }
            #expect(fault?.description == "in: cannot listen at unix:\(path): Address already in use; another process listens there")
        }
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: ListenerFault.self) { try listener { $0.listen = .unix(path: path) }.start() }
        #expect(FileManager.default.contents(atPath: path) == Data("precious".utf8))
    }

    @Test func `A port in use, an unknown owner and a missing systemd socket are reported`() throws {
        try withListener { _, _, address in
            let fault = #expect(throws: ListenerFault.self) { try listener { $0.listen = address }.start() }
            #expect(fault?.description == "in: cannot listen at \(address): Address already in use; another process listens there")
        }
        let path = try folder() + "/in.sock"
        let owner = #expect(throws: ListenerFault.self) {
            try listener {
                $0.listen = .unix(path: path)
                $0.owner = "no-such-user"
            }.start()
        }
        #expect(owner?.description == "in: cannot listen at unix:\(path): there is no user no-such-user")
        #expect(!FileManager.default.fileExists(atPath: path))
        let none = #expect(throws: ListenerFault.self) { try listener { $0.listen = .inherited(name: "web") }.start() }
        #expect(
            none?.description == "in: cannot listen at systemd:web: systemd has handed over no such socket; start it by its .socket unit")
    }

    @Test func `A systemd socket is served and stays open after the stop`() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                #expect(bind(descriptor, $0, size) == 0)
                #expect(listen(descriptor, 10) == 0)
                getsockname(descriptor, $0, &size)
            }
        }
        let address = ListenAddress.tcp(host: "127.0.0.1", port: UInt16(bigEndian: place.sin_port))
        let inherited = Platform.ServiceManager.Inherited(descriptor: dup(descriptor), name: "web")
        let served = listener({ $0.listen = .inherited(name: nil) }, inherited: [inherited])
        try served.start()
        let client = try TestClient(address)
        client.post("{}")
        #expect(client.answer()?.status == 200)
        served.stop(within: .seconds(600))
        // The next process of the unit can use it.
        #expect(TestClient.connects(address))
        close(descriptor)
    }

    @Test func `Only the process that systemd means reads its environment`() {
        let environment = ["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "web:admin"]
        #expect(ServiceManager.inherited({ environment[$0] }, process: 8) == [])
        #expect(
            ServiceManager.inherited({ environment[$0] }, process: 7) == [
                .init(descriptor: 3, name: "web"), .init(descriptor: 4, name: "admin"),
            ])
        #expect(ServiceManager.inherited({ $0 == "LISTEN_FDNAMES" ? nil : environment[$0] }, process: 7).map(\.name) == ["", ""])
        for count in ["0", "-1", "x", "99999"] {
            #expect(ServiceManager.inherited({ $0 == "LISTEN_FDS" ? count : environment[$0] }, process: 7) == [])
        }
    }

    @Test func `Valid addresses are parsed and invalid ones are refused`() {
        #expect(ListenAddress("127.0.0.1:80") == .tcp(host: "127.0.0.1", port: 80))
        #expect(ListenAddress("[::1]:80") == .tcp(host: "::1", port: 80))
        #expect(ListenAddress("localhost:0") == .tcp(host: "localhost", port: 0))
        #expect(ListenAddress("unix:/run/x.sock") == .unix(path: "/run/x.sock"))
        #expect(ListenAddress("systemd") == .inherited(name: nil))
        #expect(ListenAddress("systemd:web") == .inherited(name: "web"))
        for bad in [
            "", "8088", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "::1:80", "example.com:80", "256.0.0.1:80", "unix:x", "systemd:",
            "1.2.3:80",
        ] {
            #expect(ListenAddress(bad) == nil, "\(bad)")
        }
        #expect(ListenAddress("unix:/" + String(repeating: "x", count: 107)) == nil)
        for (text, isLocal) in [
            ("127.8.9.1:80", true), ("[::1]:80", true), ("0.0.0.0:80", false), ("[::]:80", false), ("10.0.0.1:80", false),
        ] {
            #expect(ListenAddress(text)?.isLocal == isLocal)
        }
    }
}

@Suite struct TLSTests {
    /// Makes an authority, a server certificate, a client certificate and an unrelated one with openssl. Returns their folder.
    private func certificates() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sy-tls-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script = """
            cd \(folder) && umask 077
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca
            for name in server client; do
                openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr -subj /CN=$name
                openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $name.pem -days 2
            done
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout stranger.key -out stranger.pem -days 2 -subj /CN=x
            """
        #expect(run("/bin/sh", ["-c", script]).status == 0)
        return folder
    }

    private func run(_ program: String, _ arguments: [String], input: String = "") -> (status: Int32, output: String) {
        let process = Foundation.Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return (-1, "") }
        stdin.fileHandleForWriting.write(Data(input.utf8))
        try? stdin.fileHandleForWriting.close()
        let output = stdout.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    private func request(_ address: ListenAddress, _ options: [String]) -> String {
        let head = "POST /v1/events HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\n{}"
        let words = (["s_client", "-connect", "\(address)", "-quiet"] + options).joined(separator: " ")
        return run("/bin/sh", ["-c", "printf '\(head)' | timeout 600 openssl \(words)"]).output
    }

    @Test func `TLS 1.2 and later is served, and nothing older`() throws {
        let folder = try certificates()
        try withListener(
            listening {
                var tls = HTTPSourcePlan.TLS()
                tls.certificate = folder + "/server.pem"
                tls.key = folder + "/server.key"
                $0.tls = tls
            }
        ) { _, sink, address in
            #expect(request(address, ["-tls1_2"]).hasPrefix("HTTP/1.1 200"))
            #expect(request(address, ["-tls1_3"]).hasPrefix("HTTP/1.1 200"))
            #expect(!request(address, ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]).contains("HTTP"))
            #expect(sink.lines.count == 2)
        }
    }

    @Test func `With configured authorities only a client with a certificate from them may send`() throws {
        let folder = try certificates()
        try withListener(
            listening {
                var tls = HTTPSourcePlan.TLS()
                tls.certificate = folder + "/server.pem"
                tls.key = folder + "/server.key"
                tls.clients = folder + "/ca.pem"
                $0.tls = tls
            }
        ) { _, sink, address in
            #expect(request(address, ["-cert", folder + "/client.pem", "-key", folder + "/client.key"]).hasPrefix("HTTP/1.1 200"))
            #expect(!request(address, []).hasPrefix("HTTP/1.1 200"))
            #expect(!request(address, ["-cert", folder + "/stranger.pem", "-key", folder + "/stranger.key"]).hasPrefix("HTTP/1.1 200"))
            #expect(sink.lines.count == 1)
        }
    }

    @Test func `A key that other users can read is refused, and so are missing files and files that are not PEM`() throws {
        let folder = try certificates()
        func fault(_ certificate: String, _ key: String) -> String? {
            var plan = HTTPSourcePlan()
            plan.listen = .tcp(host: "127.0.0.1", port: 0)
            var tls = HTTPSourcePlan.TLS()
            (tls.certificate, tls.key) = (certificate, key)
            plan.tls = tls
            do throws(ListenerFault) {
                try HTTPListener(name: "in", plan: plan, source: 0, sink: FakeSink()).start()
                return nil
            } catch { return error.description }
        }
        #expect(fault("/nothing.pem", folder + "/server.key") == "in: /nothing.pem cannot be read: No such file or directory")
        #expect(fault(folder, folder + "/server.key") == "in: \(folder) is not a file")
        #expect(fault(folder + "/server.csr", folder + "/server.key")?.hasPrefix("in: cannot serve at 127.0.0.1:") == true)
        chmod(folder + "/server.key", 0o644)
        #expect(
            fault(folder + "/server.pem", folder + "/server.key")
                == "in: \(folder)/server.key can be read by every user; remove that permission: chmod o= FILE")
    }
}
