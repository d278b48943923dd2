// Gives each test a folder of its own, and compiles modules from C into it against the plugin header alone.

import Document
import Events
import Foundation
import Plans
import Platform
import PluginHost
import Queueing
import TestSupport
import Testing

@testable import Admission

final class ModuleFixture: Sendable {
    let folder: String

    init() throws {
        var template = Array("/tmp/switchyard-modules-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw ModuleFault("no folder: \(String(cString: strerror(errno)))") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var folders: ModuleFolders { ModuleFolders([folder]) }

    /// Compiles a source of Tests/PluginHostTests/Modules into the folder.
    @discardableResult
    func build(_ source: String, as file: String, _ options: [String] = []) throws -> String {
        try write(try Self.compile(Project.root + "/Tests/PluginHostTests/Modules/" + source, options), as: file)
    }

    /// Compiles one of Examples/providers into the folder.
    @discardableResult
    func buildExample(_ source: String, as file: String) throws -> String {
        try write(try Self.compile(Project.root + "/Examples/providers/" + source, []), as: file)
    }

    @discardableResult
    func write(_ contents: [UInt8], as file: String, mode: mode_t = 0o755) throws -> String {
        let path = folder + "/" + file
        try Data(contents).write(to: URL(filePath: path))
        chmod(path, mode)
        return path
    }

    func subfolder(_ name: String, mode: mode_t = 0o755) throws -> String {
        let path = folder + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        chmod(path, mode)
        return path
    }

    /// Returns the message with which finding or loading the module fails. It returns nil if that succeeds.
    func fault(_ module: String, in folders: ModuleFolders? = nil) -> String? {
        do throws(ModuleFault) {
            _ = try (folders ?? self.folders).module(module)
            return nil
        } catch {
            return error.description
        }
    }

    /// The router's program, which was built with the tests.
    static let router: String = {
        var folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let candidate = folder.appending(path: "switchyard").path
            if FileManager.default.isExecutableFile(atPath: candidate), access(folder.path + "/libConsole.so", F_OK) == 0 {
                return candidate
            }
        }
        fatalError("there is no switchyard beside \(CommandLine.arguments[0])")
    }()

    /// The compiled modules. Each source is compiled once for each set of options. Every test gets a copy of its own, which is loaded
    /// separately.
    private static let compiled = Monitor<[[String]: [UInt8]]>([:])

    private static func compile(_ source: String, _ options: [String]) throws -> [UInt8] {
        try compiled.withLock { compiled in
            if let known = compiled[[source] + options] { return known }
            let output = "/tmp/switchyard-\(UUID().uuidString).so"
            defer { unlink(output) }
            let command =
                ["cc", "-std=gnu11", "-shared", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
                + ["-I", Project.header, source, "-o", output] + options
            guard run(command) == 0 else { throw ModuleFault("\(source) cannot be compiled") }
            let result = try [UInt8](Data(contentsOf: URL(filePath: output)))
            compiled[[source] + options] = result
            return result
        }
    }

    /// Runs a program and returns its exit status.
    private static func run(_ command: [String]) -> Int32 {
        let arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        var status: Int32 = 0
        guard posix_spawnp(&process, command[0], nil, nil, arguments, environ) == 0 else { return -1 }
        while waitpid(process, &status, 0) < 0 { guard errno == EINTR else { return -1 } }
        return status
    }
}

/// Collects letters from other threads in the order of their arrival.
final class Mailbox<Letter: Sendable>: Sendable {
    private let letters = Monitor<[Letter]>([])

    func put(_ letter: Letter) {
        letters.withLock { $0.append(letter) }
        letters.wake()
    }

    var all: [Letter] { letters.withLock { $0 } }

    /// Waits until that number of letters has arrived. The time limit of the test ends an endless wait.
    func wait(for count: Int = 1) -> [Letter] {
        letters.waitUntilReady { $0.count < count ? .notBefore(nil) : .ready($0) }
    }
}

/// Returns a batch of these lines, which all arrived at 7 ns.
func batch(_ lines: String...) -> Batch {
    var parcel = Parcel()
    for line in lines {
        parcel.bytes.append(line + "\n")
        parcel.entryColumn.append(
            Entry(
                end: UInt32(parcel.bytes.count), route: 0, isImmediate: false, subjectCount: 0, firstSubject: 0, messageIDOffset: 0,
                messageIDCount: 0, arrival: 7))
    }
    return Batch(parcel)
}

/// A provider made by the scripted module, with its log lines.
struct Scripted {
    let provider: ModuleInstance
    let lines: Mailbox<String>

    init(
        _ fixture: ModuleFixture, settings: String = "{}", name: String = "out", hiding hidden: [String] = [], clock: Clock = .system
    ) throws {
        let lines = Mailbox<String>()
        self.lines = lines
        let module = try #require(try fixture.folders.module("scripted"))
        provider = try module.make(settings: Secret(Array(settings.utf8)), name: name, hiding: HiddenTexts(hidden), clock: clock) {
            level, text in
            lines.put("\(level) \(text)")
        }
    }

    /// Delivers an event that tells the module what to do, and an empty event. Returns the outcome.
    func deliver(_ word: String, attempt: Int = 1) -> BatchOutcome {
        let outcomes = Mailbox<BatchOutcome>()
        provider.deliver(batch("{\"do\":\"\(word)\"}", "{}"), attempt: attempt) { outcomes.put($0) }
        return outcomes.wait()[0]
    }
}
