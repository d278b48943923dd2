// The server behind ${http}: it answers each request with the status at the beginning of its path and an empty object. For /reset it ends
// the connection without an answer. For /keep/FILE it appends the body to that file in the folder of the checks, and then answers 200.

import Glibc
import HTTPSupport
import Platform

struct FakeServer {
    /// The variable of the environment that names another server.
    static let variable = "SWITCHYARD_CONTRACT_HTTP"

    /// The folder in which /keep/ may write.
    let folder: String

    /// Starts the server, and returns its address. It ends with the process.
    func start() -> String {
        let server = Server { _, connection in
            while let request = connection.request() {
                guard let status = answer(request) else { return }
                connection.answer(status, "{}")
            }
        }
        return "http://127.0.0.1:\(server.port)"
    }

    /// Returns the status line of the answer, or nil if there is none.
    private func answer(_ request: Request) -> String? {
        let words = request.line.split(separator: " ")
        guard words.count > 1 else { return nil }
        let path = words[1]
        if path.hasPrefix("/reset") { return nil }
        if path.hasPrefix("/keep/") { return keep(request.body, in: String(path.dropFirst(5))) ? "200 OK" : "500 Not Kept" }
        let status = path.dropFirst().prefix { $0 != "/" && $0 != "?" }
        return Int(status) == nil ? "404 No Status" : "\(status) As Asked"
    }

    private func keep(_ bytes: [UInt8], in path: String) -> Bool {
        guard path.hasPrefix(folder + "/"), !path.contains("/../") else { return false }
        let number = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { return false }
        let file = Descriptor(owning: number)
        return bytes.withUnsafeBytes { bytes in
            do throws(SystemFault) { try file.write(bytes) } catch { return false }
            return true
        }
    }
}
