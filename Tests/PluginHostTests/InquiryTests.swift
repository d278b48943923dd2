import Document
import Plans
import Platform
import Queueing
import Testing

@testable import PluginHost

@Suite("Previews and probes of a module", .timeLimit(.minutes(20)))
struct InquiryTests {
    private let fixture: ModuleFixture

    init() throws { fixture = try ModuleFixture() }

    private func make(_ word: String, _ options: [String] = []) throws -> ModuleInstance {
        try fixture.build("inquiries.c", as: "inquiries.so", options)
        let module = try #require(try fixture.folders.module("inquiries"))
        let settings = Secret(Array("{\"do\":\"\(word)\"}".utf8))
        return try module.make(settings: settings, name: "out", hiding: HiddenTexts(["s3cret-text"])) { _, _ in }
    }

    private let events = OwnBatch(["{\"a\":\"s3cret-text\"}", "{}"], arrival: 7)

    @Test("a preview is read with its secrets masked, its controls escaped, and without what is not in the batch")
    func preview() throws {
        let instance = try make("all")
        defer { instance.close() }
        var expected = WirePreview()
        expected.requests = [
            WirePreview.Request(
                method: "PO\\u{1B}ST", url: "https://host/(secret)\\nmore", headers: ["A: (secret)", "B: \\u{1B}[31mred"],
                body: Array("{\"a\":\"(secret)\"}\n{}\n".utf8), events: [0, 1])
        ]
        expected.refused = [1: "it is \\u{1B}[31mred (secret)"]
        expected.losses = [0: ["a long text"]]
        #expect(instance.preview(events) == expected)
        let outcomes = Mailbox<BatchOutcome>()
        instance.deliver(batch("{}"), attempt: 1) { outcomes.put($0) }
        #expect(outcomes.wait() == [BatchOutcome(.delivered)] && instance.strayCompletions == 0)
    }

    @Test("a request of an older struct is left out, and sizes that make no sense are not read")
    func senseless() throws {
        let short = try make("short")
        #expect(short.preview(events)?.requests == [] && short.preview(events)?.refused.count == 1)
        short.close()
        let huge = try make("huge")
        let request = try #require(huge.preview(events)?.requests.first)
        #expect(request.body == [] && request.isCut && request.events == [] && request.url.hasSuffix(" bytes, not read)"))
        huge.close()
        let null = try make("null")
        #expect(null.preview(events)?.requests == [WirePreview.Request(method: "", url: "", headers: [], body: [], events: [])])
        null.close()
    }

    @Test("a long body is cut")
    func long() throws {
        let instance = try make("all")
        defer { instance.close() }
        let long = OwnBatch([String(repeating: " ", count: WirePreview.mostBody)], arrival: 7)
        let request = try #require(instance.preview(long)?.requests.first)
        #expect(request.isCut && request.body.count == WirePreview.mostBody && request.events == [0])
    }

    @Test("more than is kept is left out, and said")
    func many() throws {
        try fixture.build("inquiries.c", as: "inquiries.so")
        let module = try #require(try fixture.folders.module("inquiries"))
        let instance = try module.make(settings: Secret(Array(#"{"do":"many"}"#.utf8)), name: "out") { _, _ in }
        defer { instance.close() }
        let preview = try #require(instance.preview(OwnBatch([String(repeating: " ", count: WirePreview.mostBody)], arrival: 7)))
        #expect(preview.isCut && preview.requests.count == 15)
    }

    @Test(
        "the answer of a probe is read, and only the first one counts",
        arguments: [
            ("fine", ProbeFinding(.accepted, "five seconds")), ("twice", ProbeFinding(.accepted, "five seconds")),
            ("refused", ProbeFinding(.refused, code: 401, "the key (secret) is \\u{1B}[31mwrong")),
            ("reached", ProbeFinding(.reached, code: 404, "reached")), ("failed", ProbeFinding(.failed, "failed")),
            ("silent", ProbeFinding(.failed, "the module gave no answer")),
            ("strange", ProbeFinding(.failed, "the module gave an answer of the unknown kind 9")),
        ])
    func probe(word: String, finding: ProbeFinding) throws {
        let instance = try make(word)
        defer { instance.close() }
        #expect(instance.probe(within: .seconds(5)) == finding)
    }

    @Test("a module that does not return is left behind")
    func hangs() throws {
        let instance = try make("hangs")
        // The first reading of the clock is the beginning, and each later one is after the end.
        let readings = Monitor(0)
        let clock = Clock(
            now: {
                readings.withLock { count in
                    count += 1
                    return Instant(nanoseconds: count == 1 ? 0 : 3_600_000_000_000)
                }
            }, wall: { 0 })
        #expect(instance.probe(within: .seconds(5), clock: clock) == ProbeFinding(.failed, "the module did not answer in time"))
        instance.close()
    }

    @Test("a closed instance and a module of an older interface say nothing")
    func absent() throws {
        let instance = try make("all")
        #expect(instance.canPreview && instance.canProbe)
        instance.close()
        #expect(instance.preview(events) == nil)
        let old = try make("all", ["-DOLD"])
        #expect(!old.canPreview && !old.canProbe && old.preview(events) == nil && old.probe(within: .seconds(5)) == nil)
        old.close()
    }
}
