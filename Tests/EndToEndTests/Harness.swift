// Runs the real executable with real pipes, files and signals. Each test gets its own temporary folder, and the program gets an environment
// that holds only STATE_DIRECTORY, the sanitizer options and what the test adds.

import Foundation
import Glibc
import TestSupport

/// A router in a temporary folder of its own, which is removed when its test ends.
final class TestRouter {
    let folder: String

    init(routes: String? = nil) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        if let routes { try write(routes, to: "routes.json") }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ name: String) -> String { folder + "/" + name }
    func write(_ text: String, to name: String) throws { try text.write(toFile: path(name), atomically: false, encoding: .utf8) }
    func read(_ name: String) -> String { (try? String(contentsOfFile: path(name), encoding: .utf8)) ?? "" }
    func lines(_ name: String) -> [String] { read(name).split(separator: "\n").map(String.init) }
    func mode(_ name: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path(name)))?[.posixPermissions] as? Int
    }
    var deadLetters: [String] { TestSupport.deadLetters(in: path("state/dead-letters.sqlite")) }

    /// Starts the router in this folder. Its streams are pipes unless others are given.
    func start(
        _ arguments: [String] = [], environment: [String: String] = [:], input: FileHandle? = nil, output: FileHandle? = nil,
        executable: String = Run.executable
    ) throws -> Run {
        try Run(self, arguments, environment: environment, input: input, output: output, executable: executable)
    }

    /// Runs the router on this input until it ends.
    func run(_ arguments: [String] = [], environment: [String: String] = [:], input: String = "") throws -> Result {
        try run(arguments, environment: environment, data: Data(input.utf8))
    }

    func run(_ arguments: [String] = [], environment: [String: String] = [:], data: Data) throws -> Result {
        let run = try start(arguments, environment: environment)
        return run.finish(feeding: data)
    }
}

struct Result {
    var output: Data
    var errors: String
    var code: Int32

    var text: String { String(decoding: output, as: UTF8.self) }
    var lines: [String] { text.split(separator: "\n").map(String.init) }
    var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
}

/// A running router.
final class Run: @unchecked Sendable {
    let process = Process()
    private let router: TestRouter
    private let inputPipe = Pipe()
    private let outputPipe = Pipe()
    private let errorPipe = Pipe()
    /// What has arrived on standard output behind the lines that a test asked for. One thread reads the output.
    private var unread: [UInt8] = []

    static let executable: String = {
        // The build puts the test runner and the executable into one folder tree.
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let candidate = folder.appendingPathComponent("switchyard").path
            if FileManager.default.isExecutableFile(atPath: candidate),
                FileManager.default.fileExists(atPath: folder.path + "/libConsole.so")
            {
                return candidate
            }
        }
        fatalError("no switchyard executable was found beside \(CommandLine.arguments[0])")
    }()

    fileprivate init(
        _ router: TestRouter, _ arguments: [String], environment: [String: String], input: FileHandle?, output: FileHandle?,
        executable: String
    ) throws {
        self.router = router
        Glibc.signal(SIGPIPE, SIG_IGN)
        // A shell or nohup makes background processes ignore these signals, and the program would inherit that from the tests.
        for number in [SIGHUP, SIGINT, SIGQUIT] { Glibc.signal(number, SIG_DFL) }
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: router.folder)
        let sanitizer = arguments.isEmpty || arguments[0] == "run" ? Sanitizer.environment : Sanitizer.environmentWithoutLeaks
        process.environment = ["STATE_DIRECTORY": router.path("state")].merging(sanitizer) { $1 }.merging(environment) { $1 }
        process.standardInput = input ?? inputPipe
        process.standardOutput = output ?? outputPipe
        process.standardError = errorPipe
        // The threads of the test runner block signals, and the program would inherit that.
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
    }

    func send(_ text: String) { try? inputPipe.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }
    func endInput() { try? inputPipe.fileHandleForWriting.close() }
    func signal(_ number: Int32) { kill(process.processIdentifier, number) }
    /// Sends the signal repeatedly until the process ends. A single signal need not end it.
    func end(by number: Int32) {
        while process.isRunning {
            signal(number)
            usleep(1000)
        }
        process.waitUntilExit()
    }
    /// Fills the pipe of standard error, so that the next write of the router blocks.
    func fillErrors() {
        let descriptor = open("/proc/\(process.processIdentifier)/fd/2", O_WRONLY | O_NONBLOCK)
        while write(descriptor, "x", 1) == 1 {}
        close(descriptor)
    }
    func closeOutput() { try? outputPipe.fileHandleForReading.close() }

    /// Waits for the next bytes of standard output and returns them. The result is empty at the end of the stream.
    func nextOutput() -> String {
        defer { unread.removeAll() }
        return String(decoding: unread.isEmpty ? Array(outputPipe.fileHandleForReading.availableData) : unread, as: UTF8.self)
    }
    /// Reads standard output until that many lines have arrived, and returns them. What arrived behind them is kept for the next call.
    func outputLines(_ count: Int) -> [String] {
        while unread.count(where: { $0 == UInt8(ascii: "\n") }) < count {
            let next = outputPipe.fileHandleForReading.availableData
            if next.isEmpty { break }
            unread += next
        }
        var lines: [String] = []
        while lines.count < count, !unread.isEmpty {
            let line = unread.prefix { $0 != UInt8(ascii: "\n") }
            lines.append(String(decoding: line, as: UTF8.self))
            unread.removeFirst(min(line.count + 1, unread.count))
        }
        return lines
    }
    /// Reads standard error until it contains all of the texts.
    func waitForError(_ texts: String...) -> String {
        var errors = ""
        while !texts.allSatisfy(errors.contains) {
            let data = errorPipe.fileHandleForReading.availableData
            if data.isEmpty { break }
            errors += String(decoding: data, as: UTF8.self)
        }
        return errors
    }

    /// Feeds the data, closes the input, and collects all output until the process ends.
    func finish(feeding data: Data = Data(), readingOutput: Bool = true) -> Result {
        let feeder = Thread { [self] in
            try? inputPipe.fileHandleForWriting.write(contentsOf: data)
            endInput()
        }
        feeder.start()
        let errors = Collector(errorPipe.fileHandleForReading)
        let output =
            readingOutput && process.standardOutput as? Pipe === outputPipe
            ? (try? outputPipe.fileHandleForReading.readToEnd()) ?? Data() : Data()
        let errorText = String(decoding: errors.wait(), as: UTF8.self)
        process.waitUntilExit()
        return Result(output: Data(unread) + output, errors: errorText, code: process.terminationStatus)
    }
}

/// Reads a handle to its end on a separate thread.
private final class Collector: @unchecked Sendable {
    private var data = Data()
    private let done = DispatchSemaphore(value: 0)

    init(_ handle: FileHandle) {
        Thread.detachNewThread { [self] in
            data = (try? handle.readToEnd()) ?? Data()
            done.signal()
        }
    }

    func wait() -> Data {
        done.wait()
        return data
    }
}

/// The smallest configuration: it writes every event unchanged to standard output.
let passThrough = #"{ "providers": { "out": { "plugin": "console", "format": "ndjson" } }, "routes": [ { "to": ["out"] } ] }"#

/// The variables that `make tsan`, `make asan` and `make mutants` set for the programs that the tests start.
enum Sanitizer {
    static let environment = ProcessInfo.processInfo.environment.filter {
        $0.key.hasSuffix("SAN_OPTIONS")
            || ["ASAN_SYMBOLIZER_PATH", "SWITCHYARD_SANITIZER", "SWIFT_BACKTRACE", "SWITCHYARD_MUTANT"].contains($0.key)
    }
    /// The same for a command that does its work and ends: what it has not freed does not matter, and the search for leaks starts a
    /// symbolizer, which takes twice as long as the command.
    static let environmentWithoutLeaks = environment.merging(
        environment["ASAN_OPTIONS"].map { ["ASAN_OPTIONS": $0 + " detect_leaks=0"] } ?? [:]
    ) { $1 }
    /// True under a sanitizer. A program then is about ten times slower, and its memory use has no meaning.
    static let isOn = environment["SWITCHYARD_SANITIZER"] != nil
}
