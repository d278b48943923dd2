import Document
import Glibc
import Plans
import Platform
import Queueing
import Testing

@testable import PluginHost

@Suite("Previews and probes of an isolated module", .timeLimit(.minutes(20)))
struct IsolatedInquiryTests {
    private let fixture: ModuleFixture

    init() throws { fixture = try ModuleFixture() }

    private func make(
        _ word: String, _ options: [String] = [], hiding hidden: [String] = ["s3cret-text"], clock: Clock = .system
    ) throws -> IsolatedInstance {
        try fixture.build("inquiries.c", as: "inquiries.so", options)
        let module = try #require(try fixture.folders.module("inquiries"))
        var plan = ProviderPlan(name: "out", plugin: "inquiries", settings: Secret(Array("{\"do\":\"\(word)\"}".utf8)))
        plan.isolation = IsolationPlan()
        return try IsolatedInstance(
            module, plan, hiding: HiddenTexts(hidden), executable: ModuleFixture.router, clock: clock
        ) { _, _ in }
    }

    private let events = OwnBatch(["{\"a\":\"s3cret-text\"}", "{}"], arrival: 7)

    @Test("a preview is the one that the module gives in the router's process", arguments: ["all", "short", "huge", "null"])
    func preview(word: String) throws {
        let apart = try make(word)
        defer { apart.close() }
        let module = try #require(try fixture.folders.module("inquiries"))
        let here = try module.make(
            settings: Secret(Array("{\"do\":\"\(word)\"}".utf8)), name: "out", hiding: HiddenTexts(["s3cret-text"])
        ) { _, _ in }
        defer { here.close() }
        #expect(try apart.preview(events) == here.preview(events))
        let outcomes = Mailbox<BatchOutcome>()
        apart.deliver(batch("{}"), attempt: 1) { outcomes.put($0) }
        #expect(outcomes.wait() == [BatchOutcome(.delivered)])
    }

    @Test("a preview that is too large for a frame is cut, and says so")
    func large() throws {
        let apart = try make("many", hiding: [])
        defer { apart.close() }
        let long = OwnBatch([String(repeating: " ", count: WirePreview.mostBody)], arrival: 7)
        let preview = try #require(try apart.preview(long))
        #expect(preview.isCut && preview.requests.count == 15 && preview.requests.allSatisfy { $0.body.count == WirePreview.mostBody })
    }

    @Test(
        "the answer of a probe is the one that the module gives in the router's process",
        arguments: [
            ("fine", ProbeFinding(.accepted, "five seconds")),
            ("refused", ProbeFinding(.refused, code: 401, "the key (secret) is \\u{1B}[31mwrong")),
            ("reached", ProbeFinding(.reached, code: 404, "reached")), ("silent", ProbeFinding(.failed, "the module gave no answer")),
        ])
    func probe(word: String, finding: ProbeFinding) throws {
        let apart = try make(word)
        defer { apart.close() }
        #expect(apart.probe(within: .seconds(5)) == finding)
    }

    @Test("a module that cannot be asked says so")
    func old() throws {
        let apart = try make("all", ["-DOLD"])
        defer { apart.close() }
        #expect(try apart.preview(events) == nil)
        #expect(apart.probe(within: .seconds(5)) == nil)
    }

    @Test("a module that crashes during a preview is named, and a new process is not asked before its pause")
    func crashes() throws {
        let apart = try make("crashes")
        defer { apart.close() }
        let fault = #expect(throws: ModuleFault.self) { try apart.preview(events) }
        #expect(fault?.description.hasPrefix("the process of the module inquiries ") ?? false, "\(String(describing: fault))")
        #expect(apart.probe(within: .seconds(5))?.kind == .failed)
    }

    @Test("a module that does not return from a preview is ended")
    func hangs() throws {
        // On this thread, the third reading of the preview is the first one after the beginning of its wait.
        let readings = Monitor<Int?>(nil)
        let here = pthread_self()
        let clock = Clock(
            now: {
                guard pthread_equal(pthread_self(), here) != 0 else { return Instant(nanoseconds: 0) }
                let count: Int = readings.withLock { readings in
                    if readings != nil { readings! += 1 }
                    return readings ?? 0
                }
                return Instant(nanoseconds: count < 3 ? 0 : 3_600_000_000_000)
            }, wall: { 0 })
        let apart = try make("hangs", clock: clock)
        readings.withLock { $0 = 0 }
        let fault = #expect(throws: ModuleFault.self) { try apart.preview(events) }
        #expect(fault?.description.contains("gave no answer within 30s") ?? false, "\(String(describing: fault))")
        apart.close()
    }
}
