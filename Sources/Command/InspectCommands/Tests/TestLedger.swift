// The ledger of a test file: an empty one in a folder of its own, to which the file's statements of consent are written as a router writes
// those of its stream. The folder is removed at the end. Its keys are fixed, so that a test never depends on chance.

internal import ConsentGate
internal import Events
internal import Glibc
internal import Judging
internal import Ledger
internal import Plans
internal import Platform
internal import Startup
internal import Statements
internal import Terminal
internal import Workers

final class TestLedger {
    let view: LedgerView
    private let folder: String

    /// The key under which a test hashes subjects.
    private static let key = [UInt8](repeating: 7, count: 16)

    /// Writes the statements at the time `now`. Returns nil if the plan has no ledger. Throws if a statement is no event.
    init?(_ plan: Plan, statements: [[UInt8]], now: Int64) throws {
        guard plan.consent?.ledger != nil, var options = LedgerFile.Options(plan, under: Self.key) else { return nil }
        options.clock = Clock(now: { Instant(nanoseconds: now) }, wall: { now })
        folder = try Self.makeFolder()
        let path = folder + "/" + LedgerFile.name
        do {
            if !statements.isEmpty { try Self.write(statements, plan, path, options, now: now) }
            view = LedgerView(try LedgerFile(lookingAt: path, options: options), key: Self.key)
        } catch {
            Self.remove(folder)
            throw error
        }
    }

    /// A statement that cannot be carried out.
    struct BrokenStatement: Error {
        var index: Int
        var message: String
    }

    private static func write(_ statements: [[UInt8]], _ plan: Plan, _ path: String, _ options: LedgerFile.Options, now: Int64) throws {
        var plan = plan
        var source = SourcePlan(name: "consent", plugin: "stdin")
        source.consent = .write
        plan.namedSources = [source]
        guard let file = try LedgerFile(path, options: options) else { return }
        let registry = try Registry(file)
        defer { registry.close() }
        let said = Monitor<[String]>([])
        let writer = ConsentWriter(registry, destroy: { _ in }, erase: { _ in }, say: { words in said.withLock { $0.append(words) } })
        let ruleset = Ruleset(plan, subjectKey: key, messageIDKey: key, records: registry.records)
        for (index, line) in statements.enumerated() {
            var worker = Worker(ruleset, lineLimit: plan.limits.line, depth: plan.limits.depth, blockSize: line.count)
            line.withUnsafeBytes { worker.block.text.append(contentsOf: $0) }
            worker.block.arrival = now
            writer.prepare(&worker, ruleset)
            worker.work()
            if let fault = worker.faults.first { throw BrokenStatement(index: index, message: fault.message) }
            guard writer.settle(&worker, ruleset, source: "consent") else {
                throw BrokenStatement(index: index, message: said.withLock { $0.last } ?? "the ledger cannot take it")
            }
            if worker.heard.taken == 0 {
                throw BrokenStatement(index: index, message: said.withLock { $0.last } ?? "it states no consent")
            }
        }
    }

    private static func makeFolder() throws -> String {
        var template = Array(((getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp") + "/switchyard-test-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw StateFailure("a temporary folder cannot be made: \(SystemFault())") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func remove(_ folder: String) {
        guard let listing = opendir(folder) else { return }
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { unlink(folder + "/" + name) }
        }
        closedir(listing)
        rmdir(folder)
    }

    deinit {
        view.close()
        Self.remove(folder)
    }
}
