import Delivery
import Editing
import Events
import Plans
import Platform
import StoreFixtures
import TestSupport
import Testing

@testable import Erasing

@Suite("A demand")
struct DemandTests {
    @Test("makes a job for each provider to which a route leads, and for each that has a queue or dead letters")
    func providers() throws {
        let run = try Run(plan(providers: ["a", "b", "c"], routed: [0]), stored: ["b", "gone"])
        try run.begin(demand("u1"))
        let jobs = try run.jobs
        #expect(jobs.map(\.provider) == ["a", "b", "gone"])
        #expect(jobs.map(\.phase) == [.waiting, .byHand, .byHand])
        #expect(jobs.map(\.words) == ["", ErasureDemand.noRoute, ErasureDemand.noProvider])
        #expect(jobs.allSatisfy { $0.contents?.named == [NamedID("u1")] && $0.outOfReach == ["ids:ab12"] })
        #expect(run.lines.filter { $0.contains("needs a person") }.count == 2)
    }

    @Test("makes a job for each provider that may have got events, also after it has left the configuration and after a kill")
    func receivers() throws {
        let run = try Run(plan(providers: ["a", "b", "c"], routed: [0]))
        try run.erasures.remember(["a", "b"])
        let since = run.time.clock.wall()
        run.time.advance(.seconds(5))
        try run.erasures.remember(["b", "gone"])
        try run.kill()
        #expect(
            try run.erasures.receivers() == [
                Receiver(provider: "a", since: since), Receiver(provider: "b", since: since),
                Receiver(provider: "gone", since: since + 5_000_000_000),
            ])
        try run.begin(demand("u1"))
        #expect(try run.jobs.map(\.provider) == ["a", "b", "gone"])
        #expect(try run.jobs.map(\.words) == ["", ErasureDemand.noRoute, ErasureDemand.goneProvider])
    }

    @Test("makes no job for a provider that was forgotten; one that is configured or has something stored is not forgotten")
    func forgets() throws {
        let run = try Run(plan(providers: ["a"], routed: [0]), stored: ["kept"])
        #expect(try run.erasures.forget("gone") == .unknown)
        try run.erasures.remember(["a", "gone", "gone too", "kept"])
        #expect(try run.erasures.forget("a") == .isConfigured)
        #expect(try run.erasures.forget("kept") == .isStored)
        #expect(try run.erasures.forget("gone") == nil)
        #expect(try run.erasures.forget("gone") == .unknown)
        try run.begin(demand("u1"))
        #expect(try run.jobs.map(\.provider) == ["a", "gone too", "kept"])
        try run.kill()
        #expect(try run.erasures.receivers().map(\.provider) == ["a", "gone too", "kept"])
    }

    @Test("asks a provider that got hashed ids for the hashes alone, under the name and with the digits of the route")
    func hashes() throws {
        let forms = KnownForms(plan([HashStep([path("userId"), path("anonymousId")], key: 0, named: "k", digits: 32)]))
        let subjects = forms.subjects([NamedID("u1", member: "userId")], at: 0)
        #expect(subjects.count == 1 && subjects[0].member == "userId")
        #expect(subjects[0].id.hasPrefix("k:") && subjects[0].id.utf8.count == 34 && !subjects[0].id.contains("u1"))
    }

    @Test("follows the id to the member that a route gives it, and leaves out a member that no route passes on")
    func moves() throws {
        let renamed = KnownForms(plan([RenameStep([(path("userId"), "person")])]))
        #expect(renamed.subjects([NamedID("u1")], at: 0).contains(SubjectID(member: "person", id: "u1")))
        let dropped = KnownForms(plan([DropStep([path("userId"), path("anonymousId")])]))
        #expect(dropped.subjects([NamedID("u1")], at: 0).isEmpty)
    }

    @Test("never asks for a value that may stand for other people, such as a constant or a mask")
    func constants() throws {
        let forms = KnownForms(plan([SetStep(constants: [(path("userId"), "\"nobody\""), (path("anonymousId"), "\"nobody\"")])]))
        #expect(forms.subjects([NamedID("u1")], at: 0).isEmpty)
    }

    @Test("leaves a provider whose form of the ids is not known to a person, and does not ask it")
    func unknownForm() throws {
        let run = try Run(plan([DropStep([path("userId"), path("anonymousId")])]))
        try run.begin(demand("u1"))
        run.pass(day)
        let job = try run.only
        #expect(run.provider.asks.isEmpty && job.phase == .byHand && job.words == ErasureDemand.unknownForm)
    }

    @Test("takes ids with quotes, backslashes, zeros and other scripts as they are")
    func texts() throws {
        for id in ["\"", "\\u0041", "a\u{0}b", "ä\u{1F600}", "{}", String(repeating: "x", count: 4000)] {
            let subjects = KnownForms(plan()).subjects([NamedID(id, member: "userId")], at: 0)
            #expect(subjects == [SubjectID(member: "userId", id: id)])
        }
    }

    @Test("is kept whole in the bytes that are encrypted, and bytes that are cut or changed in length are not read")
    func contents() {
        let contents = ErasureJob.Contents(
            named: [NamedID("u1"), NamedID("u2", member: "userId")],
            subjects: [
                .init(SubjectID(member: "userId", id: "u1"), .confirmed), .init(SubjectID(member: "a", id: ""), .refused("no")),
                .init(SubjectID(member: "b", id: "x"), .open),
            ], state: [1, 2, 3])
        let bytes = contents.bytes
        #expect(ErasureJob.Contents(bytes) == contents)
        for size in bytes.indices { #expect(ErasureJob.Contents(Array(bytes[..<size])) == nil) }
        #expect(ErasureJob.Contents(bytes + [0]) == nil && ErasureJob.Contents([2] + bytes.dropFirst()) == nil)
    }
}
