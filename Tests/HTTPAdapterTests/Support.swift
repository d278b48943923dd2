// Instances of `http`, and a temporary folder for each test.

import Foundation
import Glibc
import HTTPSupport
import PluginKit

@testable import HTTP

extension Instance {
    convenience init(_ settings: String) throws { try self.init(of: export(HTTPProvider.self), settings) }

    /// Makes an instance with long timeouts unless `more` sets them. Under a sanitizer, and beside all other tests, an answer can take very
    /// long.
    convenience init(url: String, _ more: String = "") throws {
        let timeout = more.contains("\"timeout\"") ? "" : #", "timeout": {"connect": 600000, "total": 600000}"#
        try self.init("{\"url\": \"\(url)\"\(timeout)\(more.isEmpty ? "" : ", " + more)}")
    }
}

/// Returns the message with which settings are refused.
func refusal(_ settings: String) -> String {
    do {
        _ = try Instance(settings)
        return "accepted"
    } catch {
        return "\(error)"
    }
}

final class TemporaryFolder: Sendable {
    let path: String
    init() {
        var template = Array("/tmp/http-tests-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func path(_ name: String) -> String { path + "/" + name }
    func write(_ name: String, _ text: String) { _ = FileManager.default.createFile(atPath: path(name), contents: Data(text.utf8)) }
    func text(_ name: String) -> String {
        FileManager.default.contents(atPath: path(name)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
