// What one worker works with from request to request: its translator, whose memory is used again. It makes of a body the
// lines that go to the router, one for each event, also for those that are refused: the router counts and names them as it does
// with lines from anywhere, and none is lost without a trace.

internal import Dialects
internal import Events
internal import Glibc
internal import Platform

final class RequestTranslator {
    /// Beyond this a body's memory is not kept for the next.
    private static let usual = 1 << 20

    private let limits: TranslationLimits
    private var translator: Translator
    private var translation = Translation()

    init(_ limits: TranslationLimits) {
        self.limits = limits
        translator = Translator(limits: limits)
    }

    /// The key that the body carried.
    var key: [UInt8]? { translation.writeKey.map { Array($0.utf8) } }

    /// What became of a body.
    struct Work: ~Copyable {
        var lines: ByteBuffer
        var events: Int
        /// Why lines were refused that stand for what has no text of its own, by their number.
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
            default: if translation.results.isEmpty { throw .malformed(refusal.message) }
            }
        }
        if translation.refusal == nil && translation.faults.isEmpty {
            return Work(lines: translation.takeLines(), events: translation.results.count, reasons: [:])
        }
        return mixed(body)
    }

    /// The lines of good and bad events in their order. What ends a body before its time is one more bad event.
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
        if let refusal = translation.refusal, !isOfLastEvent(refusal) { RequestTranslator.add(refusal, body, to: &work) }
        return work
    }

    /// Whether the body was cut off within an event, which is refused for that already.
    private func isOfLastEvent(_ refusal: EventFault) -> Bool {
        if case .fault? = translation.results.last { return refusal.reason == .unclosed }
        return false
    }

    /// A text that is no JSON goes on as it came, for the router to say what is wrong and where. For any other fault a text in
    /// quotes stands, which is no event either.
    private static func add(_ fault: EventFault, _ body: UnsafeRawBufferPointer, to work: inout Work) {
        let text = UnsafeRawBufferPointer(rebasing: body[fault.text])
        if case .json = fault.reason, text.contains(where: { $0 > 0x20 }) {
            for byte in text { work.lines.append(byte == 0x0a ? 0x20 : byte) }
        } else {
            work.reasons[work.events] = fault.message
            work.lines.append(jsonQuoted(fault.message))
        }
        work.lines.append(UInt8(ascii: "\n"))
        work.events += 1
    }
}
