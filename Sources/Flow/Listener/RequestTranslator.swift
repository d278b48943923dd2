// The state that one worker keeps from request to request: a translator, whose memory is reused. It turns a body into the lines that go to
// the router, one line for each event. A refused event becomes a line too, so that the router counts and reports it like an invalid line of
// any other source. No event is lost without a trace.

internal import Dialects
internal import Events
internal import Glibc
internal import Platform

final class RequestTranslator {
    /// The largest body, in bytes, whose memory is kept for the next body.
    private static let usual = 1 << 20

    private let limits: TranslationLimits
    private var translator: Translator
    private var translation = Translation()

    init(_ limits: TranslationLimits) {
        self.limits = limits
        translator = Translator(limits: limits)
    }

    /// The key that the body contained. It is nil if there was none.
    var key: [UInt8]? { translation.writeKey.map { Array($0.utf8) } }

    /// The result of the translation of a body.
    struct Work: ~Copyable {
        var lines: ByteBuffer
        var events: Int
        /// The reasons of refused events that have no text of their own, by line number.
        var reasons: [Int: String]

        consuming func takeLines() -> ByteBuffer { lines }
    }

    func translate(_ body: UnsafeRawBufferPointer, from dialect: any Dialect, _ context: RequestContext) throws(Refusal) -> Work {
        translation.removeAll()
        translation.reserve(body.count)
        translator.translate(body, from: dialect, context, into: &translation)
        defer {
            if body.count > RequestTranslator.usual { translator = Translator(limits: limits) }
        }
        if let refusal = translation.refusal {
            switch refusal.reason {
            case .tooManyEvents(let most): throw .tooManyEvents(most: most)
            case .tooMuch: throw .tooLarge(refusal.message)
            default: throw .malformed(refusal.message)
            }
        }
        if translation.faults.isEmpty {
            return Work(lines: translation.takeLines(), events: translation.results.count, reasons: [:])
        }
        return mixed(body)
    }

    /// Returns the lines of valid and invalid events in their order.
    private func mixed(_ body: UnsafeRawBufferPointer) -> Work {
        let good = translation.takeLines()
        var work = Work(lines: ByteBuffer(capacity: good.count + 100 * translation.faults.count), events: 0, reasons: [:])
        var at = 0
        for result in translation.results {
            switch result {
            case .line:
                let end = UnsafeRawPointer(memchr(good.base + at, 0x0a, good.count - at)!) - UnsafeRawPointer(good.base) + 1
                work.lines.append(good.base + at, end - at)
                at = end
                work.events += 1
            case .fault(let index): RequestTranslator.add(translation.faults[index], body, to: &work)
            }
        }
        assert(at == good.count, "a translated line has no result")
        assert(work.events == translation.results.count, "an event has no line")
        return work
    }

    /// Appends a line for a refused event. A text that is not JSON is passed on unchanged, so that the router reports what is wrong and
    /// where. For any other fault the line is a quoted message, which is not an event either.
    private static func add(_ fault: EventFault, _ body: UnsafeRawBufferPointer, to work: inout Work) {
        let text = UnsafeRawBufferPointer(rebasing: body[fault.text])
        if case .json = fault.reason, text.contains(where: { $0 > 0x20 }) {
            // A line feed in a string must not become valid: a tab separates tokens like a line feed, and is as invalid in a string.
            for byte in text { work.lines.append(byte == 0x0a ? 0x09 : byte) }
        } else {
            work.reasons[work.events] = fault.message
            work.lines.append(jsonQuoted(fault.message))
        }
        work.lines.append(UInt8(ascii: "\n"))
        work.events += 1
    }
}
