// Tests samples with a salt, and limits by the value of a member.

import Judging
import Plans
import Testing

@testable import Events
@testable import Models
@testable import Sampling

@Suite struct SaltTests {
    private func sample(_ rate: Double, salt: String?) -> RoutePlan {
        route {
            $0.sample = SamplePlan(rate: rate, by: path("userId"))
            $0.sample?.salt = salt
        }
    }

    @Test("samples with different salts draw independently, and those with the same salt draw the same users")
    func independent() {
        let fixture = JudgeFixture(plan(sample(0.5, salt: "a"), sample(0.5, salt: "b"), sample(0.5, salt: nil), sample(0.5, salt: "a")))
        var both = [0, 0]
        for user in 0..<4000 {
            let isIn = fixture.verdicts(#"{"userId":"user_\#(user)"}"#).map { $0 == .admitted }
            #expect(isIn[0] == isIn[3])
            if isIn[0], isIn[1] { both[0] += 1 }
            if isIn[0], isIn[2] { both[1] += 1 }
        }
        for count in both { #expect((900...1100).contains(count), "a quarter of the users is in both") }
    }

    @Test("the hash with a salt never changes")
    func pinned() {
        func hash(_ salt: String) -> UInt64 {
            let key = SampledMember(slot: 0, salt: salt).key
            return Array("user_1".utf8).withUnsafeBufferPointer { key.hash(ByteRun(base: $0.baseAddress!, count: $0.count)) }
        }
        // From a program of another language: the 128-bit hash of the salt is the key.
        #expect(hash("experiment-a") == 11_973_372_723_150_898_867)
        #expect(hash("größe") == 8_702_311_567_277_973_961)
    }
}

@Suite struct ValueLimitTests {
    private let second: Int64 = 1_000_000_000

    private func fixture(_ perSecond: Int) -> JudgeFixture {
        JudgeFixture(
            plan(
                route {
                    $0.sample = SamplePlan(rate: 1)
                    $0.sample?.limit = LimitPlan(EventRate(perDay: perSecond * 86_400), by: path("userId"))
                }))
    }

    @Test("each value of the member has a limit of its own, and events without a value share one")
    func byValue() {
        let fixture = fixture(2)
        for line in [#"{"userId":"a"}"#, #"{"userId":"b"}"#, #"{"userId":1}"#, "{}"] {
            for _ in 0..<5 { fixture.take(line, arrival: second) }
        }
        fixture.take(#"{"userId":null}"#, arrival: second)
        fixture.take(#"{"userId":"\u0061"}"#, arrival: second)
        #expect(fixture.tally[0, .admitted] == 8 && fixture.tally[0, .limited] == 14)
        fixture.take(#"{"userId":"a"}"#, arrival: 2 * second)
        #expect(fixture.tally[0, .admitted] == 9)
    }

    @Test("a trial uses up nothing of a value's limit")
    func trial() {
        let fixture = fixture(1)
        for _ in 0..<3 { #expect(fixture.verdicts(#"{"userId":"a"}"#, arrival: second) == [.admitted]) }
    }

    @Test("values beyond the space share one limit, and full buckets make space")
    func bounded() {
        let rule = LimitRule(LimitPlan(EventRate(perDay: 86_400)))
        var buckets = ValueBuckets()
        func takes(_ value: UInt64, at now: Int64) -> Bool { buckets.takes(at: now, value: value, rule) }
        let ofAll = (0..<UInt64(ValueBuckets.most)).count { takes($0, at: second) }
        #expect(ofAll == ValueBuckets.most)
        #expect([takes(.max, at: second), takes(.max - 1, at: second), takes(0, at: second)] == [true, false, false])
        #expect(buckets.count == ValueBuckets.most)
        #expect([takes(.max, at: 3 * second), takes(.max - 1, at: 3 * second)] == [true, true])
        #expect(buckets.count == 2)
    }
}
