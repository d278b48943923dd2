// The work on a whole request, outside the daemon's thread. It decodes and translates the body, submits the lines to the sink, and turns
// the sink's result into the answer of the service.

internal import CDecoders
internal import Dialects
internal import Events
internal import Ingest
internal import Plans
internal import Platform

struct RequestHandler: Sendable {
    let source: Int
    let limits: HTTPLimits
    let keys: KeyRing
    let budget: MemoryBudget
    let sink: any EventSink
    let log: RefusalLog
    let clock: Clock

    /// The limits of a translator. The output may be larger than the body, because each line repeats what the batch has in common.
    var translation: TranslationLimits {
        TranslationLimits(events: limits.events, line: limits.decoded, output: max(16 << 20, 2 * limits.decoded))
    }

    /// The number of seconds that a client should wait after its request was refused because of overload.
    static let pause = 1

    /// Works on an exchange whose body is complete. `finish` is called once, from any thread. `offers` is true if the calling thread lets the
    /// sink judge the events before it waits.
    func work(
        _ exchange: Exchange, _ service: any Service, at translator: RequestTranslator, offers: Bool,
        finish: @escaping @Sendable (Reply) -> Void
    ) {
        let request = exchange.request
        // A request that waited too long for this thread is not decoded any more, so that the requests behind it are answered in time.
        guard clock.now() < exchange.deadline else {
            exchange.letGo(budget)
            return finish(service.answer(request, refused: .overloaded(retryAfter: RequestHandler.pause)))
        }
        let lines: ByteBuffer
        let events: Int
        let reasons: [Int: String]
        do throws(Refusal) {
            let work = try translate(exchange, request: request, service: service, translator: translator)
            (events, reasons) = (work.events, work.reasons)
            lines = work.takeLines()
        } catch {
            log.note(error)
            exchange.letGo(budget)
            return finish(service.answer(request, refused: error))
        }
        if lines.isEmpty {
            exchange.letGo(budget)
            return finish(service.answer(request, events: events, faults: []))
        }
        // The router owns the lines from here on. The budget counts them until the answer.
        let budget = budget
        let answer: @Sendable (Submission) -> Void = { submission in
            exchange.letGo(budget)
            switch submission {
            case .stored(let invalid):
                assert(invalid.allSatisfy { (0..<events).contains($0.line) }, "the sink refused a line that it was not given")
                let faults = invalid.map { RefusedEvent(event: $0.line, message: $0.message) }
                finish(service.answer(request, events: events, faults: faults))
            case .overloaded(let seconds): finish(service.answer(request, refused: .overloaded(retryAfter: seconds)))
            case .closing: finish(service.answer(request, refused: .closing))
            case .lost:
                assertionFailure("a request does not wait for the end of its events")
                finish(service.answer(request, refused: .overloaded(retryAfter: RequestHandler.pause)))
            }
        }
        var submitter = Submitter(source: source, key: exchange.key, deadline: exchange.deadline)
        submitter.reasons = reasons
        submitter.offers = offers
        if let peer = exchange.peer { submitter.isThere = { peer.isThere } }
        if !sink.submit(lines, from: submitter, answer: answer) { answer(.overloaded(retryAfter: RequestHandler.pause)) }
    }

    private func translate(_ exchange: Exchange, request: Request, service: any Service, translator: RequestTranslator)
        throws(Refusal)
        -> RequestTranslator.Work
    {
        let dialect = try service.dialect(of: request)
        var body = exchange.takeBody()
        if let header = request.header("content-encoding") {
            let codings = try ContentCoding.parse(header, most: limits.codings)
            if !codings.isEmpty {
                body = try ContentCoding.decode(body, codings, limits: limits) { (bytes) throws(Refusal) in try take(bytes, exchange) }
            }
        }
        guard body.count <= limits.decoded else { throw .tooLarge("the body has more than \(limits.decoded) bytes") }
        guard body.count < Block.most else { throw .tooLarge("the body has more than \(Block.most) bytes") }
        // The lines are about as long as the body. The difference is known only after the translation.
        try take(body.count, exchange)
        let work = try translate(body, dialect: dialect, exchange: exchange, translator: translator)
        if work.lines.count > body.count { try take(work.lines.count - body.count, exchange) }
        if service.hasKeyInBody { exchange.key = try keys.judge(service.key(of: request) ?? translator.key, dialect: service.name) }
        return work
    }

    private func take(_ bytes: Int, _ exchange: Exchange) throws(Refusal) {
        guard budget.take(bytes) else { throw .overloaded(retryAfter: RequestHandler.pause) }
        exchange.held += bytes
    }

    /// Translates the body. The body is borrowed, so it lives as long as its bytes are read.
    private func translate(_ body: borrowing ByteBuffer, dialect: any Dialect, exchange: Exchange, translator: RequestTranslator)
        throws(Refusal)
        -> RequestTranslator.Work
    {
        try translator.translate(
            body.bytes, from: dialect, RequestContext(time: exchange.arrival, ip: exchange.ip, isPrivate: exchange.request.isPrivate))
    }
}
