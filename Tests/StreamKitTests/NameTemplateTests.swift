import Events
import PluginKit
import Testing

@testable import StreamKit

@Suite("names by template")
struct NameTemplateTests {
    private func name(_ template: String, _ event: String) throws -> String {
        var members = MemberList()
        let template = try NameTemplate(template, setting: "subject", members: &members)
        var reader = MemberReader(members)
        return Batch.with([event]) { batch in
            reader.begin(batch.lines)
            guard let event = reader.event(0) else { return "not read" }
            var buffer = ByteBuffer()
            template.append(event, to: &buffer)
            return String(decoding: buffer.bytes, as: UTF8.self)
        }
    }

    @Test("a value adds at most 100 characters, also if it is long or of other letters")
    func long() throws {
        let long = String(repeating: "a", count: 5000)
        #expect(try name("x.{a}.y", #"{"a":"\#(long)"}"#) == "x." + String(repeating: "a", count: 100) + ".y")
        let other = String(repeating: "日", count: 300)
        #expect(try name("{a}", #"{"a":"\#(other)"}"#) == String(repeating: "_", count: 100))
    }

    @Test("members lie at any depth")
    func members() throws {
        #expect(try name(#"{properties["a b"].c}-{x}"#, #"{"x":1,"properties":{"a b":{"c":"d"}}}"#) == "d-1")
    }

    @Test("every byte that is neither a letter, a digit, '-' nor '_' is replaced")
    func bytes() throws {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_".utf8)
        for byte in UInt8(0)..<128 {
            let digits = String(byte, radix: 16)
            let found = try name("{a}", #"{"a":"\u00\#(digits.count == 1 ? "0" : "")\#(digits)"}"#)
            #expect(found == (allowed.contains(byte) ? String(UnicodeScalar(byte)) : "_"), "the byte \(byte)")
        }
    }
}

@Suite("outcomes of single events")
struct EventOutcomesTests {
    private func words(_ settle: (inout EventOutcomes) -> Void) -> String {
        var outcomes = EventOutcomes(count: 3)
        settle(&outcomes)
        switch outcomes.outcome {
        case .mixed(let rest, let events):
            return "\(word(rest)) but " + events.map { "\($0.index) \(word($0.outcome))" }.joined(separator: ", ")
        case let outcome: return word(outcome)
        }
    }

    private func word(_ outcome: Outcome) -> String { String("\(outcome)".prefix { $0 != "(" }) }

    @Test("what prevents every event is the outcome of the delivery, and an event that is refused is refused alone")
    func together() {
        #expect(words { $0.settleRest(.delivered) } == "delivered")
        #expect(words { $0.settleRest(.retry("busy")) } == "retry")
        #expect(words { $0.settleRest(.rejected("bad")) } == "delivered but 0 rejected, 1 rejected, 2 rejected")
        #expect(
            words {
                $0.settle(1, .rejected("bad"))
                $0.settleRest(.delivered)
            } == "delivered but 1 rejected")
        #expect(
            words {
                $0.settle(0, .delivered)
                $0.settle(1, .retry("busy"))
                $0.settle(2, .unknown("lost"))
            } == "unknown but 0 delivered, 1 retry")
    }

    @Test("an event keeps its first outcome, and an answer for no event changes nothing")
    func once() {
        #expect(
            words {
                $0.settle(0, .rejected("bad"))
                $0.settle(0, .delivered)
                $0.settle(7, .rejected("bad"))
                $0.settle(-1, .rejected("bad"))
                $0.settleRest(.delivered)
            } == "delivered but 0 rejected")
    }
}
