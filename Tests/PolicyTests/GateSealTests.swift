import Foundation
import Testing

/// The compiler is asked, since what must not compile cannot stand in a test.
@Suite struct GateSealTests {
    /// Where the modules under test were built: the folder of the running tests.
    private static let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources")
    private static let hasCompiler =
        FileManager.default.fileExists(atPath: build.appendingPathComponent("Modules/Policy.swiftmodule").path)
        && (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .contains { FileManager.default.isExecutableFile(atPath: "\($0)/swiftc") }

    /// What the compiler says of a file with all the rights of the module itself; empty: it compiles.
    private func complaints(_ code: String) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Snippet.swift")
        try ("@testable import Policy\n" + code).write(to: file, atomically: true, encoding: .utf8)
        let output = folder.appendingPathComponent("output")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)

        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["swiftc", "-typecheck", "-swift-version", "6", "-I", Self.build.appendingPathComponent("Modules").path]
        for library in ["CJansson"] { compiler.arguments! += ["-I", Self.sources.appendingPathComponent(library).path] }
        for library in ["CSIMD", "CPlatform", "CCrypto"] {
            compiler.arguments! += ["-Xcc", "-fmodule-map-file=\(Self.build.path)/\(library).build/module.modulemap"]
        }
        compiler.arguments!.append(file.path)
        compiler.standardError = try FileHandle(forWritingTo: output)
        try compiler.run()
        compiler.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        return compiler.terminationStatus == 0 ? "" : text
    }

    @Test("nothing but the gate can make an Admitted, not even the module around it", .enabled(if: hasCompiler))
    func admitted() throws {
        #expect(try complaints("func take(_ admitted: consuming Admitted) -> Int { admitted.route }") == "")
        let forged = try complaints("func forge() -> Admitted { Admitted(route: 0, edit: 0) }")
        #expect(forged.contains("'Admitted' initializer is inaccessible due to 'fileprivate' protection level"), "\(forged)")
    }
}
