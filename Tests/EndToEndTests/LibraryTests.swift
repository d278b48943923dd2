// Which libraries a running router has loaded, and what it says if one cannot be loaded.

import Foundation
import Glibc
import HTTPSupport
import Testing

@Suite("the router: libraries that are loaded when they are needed", .timeLimit(.minutes(5)))
struct LibraryTests {
    private func routes(_ url: String) -> String {
        #"{ "providers": { "out": { "plugin": "http", "url": "\#(url)", "delivery": { "retry": { "first": "10ms", "most": "10ms" } } } }, "#
            + #""routes": [ { "to": ["out"] } ] }"#
    }

    /// The libraries that the process has mapped.
    private func mapped(_ run: Run) -> String {
        // The size of this file is 0, so it is read to its end.
        let maps = FileHandle(forReadingAtPath: "/proc/\(run.process.processIdentifier)/maps")
        return (try? maps?.readToEnd()).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    @Test("a router with an idle provider has loaded neither libcurl nor libcrypto, and loads libcurl with the first event")
    func idle() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let router = try TestRouter(routes: routes(server.url))
        let run = try router.start(["run", "--http", "unix:\(router.path("s"))"])
        _ = run.waitForError("listening at")
        let before = mapped(run)
        #expect(before.contains("memfd:libHTTP"), "the module itself is loaded")
        #expect(!before.contains("libcurl") && !before.contains("libcrypto") && !before.contains("libssl"))
        let sent = try router.run(
            ["send", "--to", "unix:\(router.path("s"))"], environment: ["STATE_DIRECTORY": router.path("o")], input: "{\"n\":1}\n")
        #expect(sent.code == 0)
        while server.requests.isEmpty { usleep(1000) }
        #expect(mapped(run).contains("libcurl"))
        run.signal(SIGTERM)
        #expect(run.finish().code == 0)
    }

    @Test(
        "if libcurl cannot be loaded, events wait and the log says what to install; once it can be loaded, they are delivered without a restart"
    )
    func broken() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let router = try TestRouter(routes: routes(server.url))
        try FileManager.default.createDirectory(atPath: router.path("libraries"), withIntermediateDirectories: true)
        try router.write("no library", to: "libraries/libcurl.so.4")
        try router.write("no library", to: "libraries/libcurl-gnutls.so.4")
        let environment = ["LD_LIBRARY_PATH": router.path("libraries")]

        let check = try router.run(["check", "--connect"], environment: environment)
        #expect(check.text.contains("out: no answer: libcurl cannot be loaded (") && check.code != 0, "\(check.text)\(check.errors)")
        #expect(check.text.contains("; install the Debian package libcurl4"))
        #expect(try router.run(["check", "--connect"]).code == 0, "without the broken file it is loaded")

        let run = try router.start(environment: environment)
        run.send("{\"n\":1}\n")
        let errors = run.waitForError("install the Debian package libcurl4")
        #expect(errors.contains("out: ") && errors.contains("libcurl cannot be loaded (") && server.requests.count <= 1)
        for name in ["libcurl.so.4", "libcurl-gnutls.so.4"] { unlink(router.path("libraries/\(name)")) }
        let result = run.finish()
        #expect(result.code == 0 && server.requests.last.map { $0.text.contains(#""n":1"#) } ?? false, "\(result.errors)")
    }

    @Test("a libcurl that is too old is refused, and the message says which is needed")
    func old() throws {
        let router = try TestRouter(routes: routes("http://127.0.0.1:9"))
        try FileManager.default.createDirectory(atPath: router.path("libraries"), withIntermediateDirectories: true)
        try router.write(
            "static struct { int age; const char *version; unsigned number; } about = { 0, \"7.64.0\", 0x074000 };\n"
                + "void *curl_version_info(int now) { (void)now; return &about; }\n", to: "old.c")
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["cc", "-shared", "-fPIC", router.path("old.c"), "-o", router.path("libraries/libcurl.so.4")]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        let check = try router.run(["check", "--connect"], environment: ["LD_LIBRARY_PATH": router.path("libraries")])
        let words = "libcurl 7.64.0 is too old, 7.87 or newer is needed; upgrade the Debian package libcurl4"
        #expect(check.text.contains("out: no answer: \(words)"), "\(check.text)\(check.errors)")
    }
}
