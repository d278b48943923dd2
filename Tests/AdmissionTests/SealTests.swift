import Foundation
import Testing

/// The folder of the running tests, which holds the built modules.
private let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
private let hasCompiler =
    FileManager.default.fileExists(atPath: build.appendingPathComponent("Modules/Admission.swiftmodule").path)
    && (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/swiftc") }

/// These tests run the compiler, because a test cannot contain code that must not compile.
@Suite("The seal of admitted events", .enabled(if: hasCompiler))
struct SealTests {
    /// Returns the compiler's errors for a file of another module. The text is empty if the file compiles.
    private func complaints(_ code: String) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("seal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Snippet.swift")
        try ("import Admission\nimport Events\n" + code).write(to: file, atomically: true, encoding: .utf8)
        let output = folder.appendingPathComponent("output")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)

        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["swiftc", "-typecheck", "-swift-version", "6", "-I", build.appendingPathComponent("Modules").path]
        for library in ["CSIMD", "CPlatform"] {
            compiler.arguments! += ["-Xcc", "-fmodule-map-file=\(build.path)/\(library).build/module.modulemap"]
        }
        compiler.arguments!.append(file.path)
        compiler.standardError = try FileHandle(forWritingTo: output)
        try compiler.run()
        compiler.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        return compiler.terminationStatus == 0 ? "" : text
    }

    @Test("another module can decide, append admitted events, and copy events of a parcel")
    func honest() throws {
        let code = """
            func take(_ state: ConsentState, _ rules: UnsafePointer<AdmissionRules>, _ note: Parcel.Note, into parcel: inout Parcel) {
                guard case .admitted(let admitted) = Admission.decide(Demand(level: 1), rules, state: { state }) else { return }
                parcel.place(forLineOf: 1)[0] = 10
                let line = parcel.append(admitted, note, lineOf: 1, messageID: Parcel.MessageIDPlace())
                parcel.append(admitted, note, copyOf: line)
                var other = Parcel()
                other.append(copying: 0, of: parcel)
                _ = Batch(other)
            }
            """
        #expect(try complaints(code) == "")
    }

    @Test(
        "no other module can forge an admitted event",
        arguments: [
            ("func forge() -> Admitted { Admitted() }", "'Admitted' initializer is inaccessible"),
            ("func forge() -> Admitted { Admitted(stateLevel: 3, entryLevel: 0) }", "'Admitted' initializer is inaccessible"),
            (
                "extension Admitted { init(forged: Void) { self = Admitted(stateLevel: 3, entryLevel: 0) } }",
                "extra arguments at positions"
            ),
            ("extension Admitted { init(forged: Void) { stateLevel = 3 } }", "'let' property 'stateLevel' may not be initialized directly"),
            (
                "extension Admission { static func forge(_ level: UInt8) -> Admitted { Admitted(entryLevel: level) } }",
                "'Admitted' initializer is inaccessible"
            ),
            ("func forge(_ one: borrowing Admitted) -> Admitted { copy one }", "cannot be applied to noncopyable types"),
            ("func raise(_ one: inout Admitted) { one.stateLevel = 3 }", "'stateLevel' is a 'let' constant"),
            ("func forge(_ parcel: inout Parcel) { parcel.bytes.append(10) }", "'bytes' setter is inaccessible"),
            ("func forge(_ parcel: inout Parcel, _ entry: Entry) { parcel.entryColumn.append(entry) }", "'entryColumn' is inaccessible"),
            (
                "func forge(_ parcel: inout Parcel, _ key: SubjectKey) { parcel.subjectColumn.append(key) }",
                "'subjectColumn' is inaccessible"
            ),
            ("func forge(_ entry: Entry, of parcel: inout Parcel) { parcel.entries[0] = entry }", "cannot assign through subscript"),
            (
                "func forge(_ text: ByteRun) -> Parcel.Line { Parcel.Line(text: text, messageID: Parcel.MessageIDPlace()) }",
                "'Parcel.Line' initializer is inaccessible"
            ),
            (
                "func forge() -> Entry { Entry(end: 1, route: 0, isImmediate: false, level: 0, subjectCount: 0, firstSubject: 0, "
                    + "messageIDOffset: 0, messageIDCount: 0, arrival: 0) }",
                "'Entry' initializer is inaccessible"
            ),
            (
                "func forge(_ bytes: UnsafeRawBufferPointer) -> Batch? { Batch(restoring: bytes, index: bytes, count: 1, route: { $0 }, "
                    + "level: { $0 }) }",
                "error:"
            ),
            ("func forge(_ parcel: inout Parcel, _ batch: Batch) { parcel.append(copyOf: 0, of: batch, lineOf: 3) }", "error:"),
            ("func forge(_ bytes: UnsafeRawBufferPointer) { _ = BatchIndex(bytes, count: 1, route: { $0 }, level: { $0 }) }", "error:"),
        ])
    func forged(code: String, complaint: String) throws {
        let said = try complaints(code)
        #expect(said.contains(complaint), "\(said)")
    }
}
