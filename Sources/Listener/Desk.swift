// What is done with a whole request, off the daemon's thread: its body is decoded and translated, its lines go to the sink,
// and what the sink says becomes the service's answer.

internal import CDecoders
internal import Configuration
internal import Events
internal import Ingest
internal import Platform

struct Desk: Sendable {
    let source: Int
    let limits: HTTPLimits
    let keys: KeyRing
    let budget: MemoryBudget
    let sink: any EventSink

    /// How long a client should wait for which there was no room, in seconds.
    static let pause = 1

    /// Works on an exchange whose body is whole. `finish` is called once, from any thread.
    func work(_ exchange: Exchange, _ service: any Service, finish: @escaping @Sendable (Reply) -> Void) {
        let request = exchange.request
        var translation = Translation(limit: limits.events)
        do throws(Refusal) {
            try translate(exchange, request, service, &translation)
        } catch {
            exchange.letGo(budget)
            return finish(service.answer(request, refused: error))
        }
        let events = translation.events
        let faults = translation.faults
        let lines = translation.takeLines()
        if lines.isEmpty {
            exchange.letGo(budget)
            return finish(service.answer(request, events: events, faults: faults))
        }
        // The lines are the router's from now on; the budget keeps them until their answer.
        let budget = budget
        let answer: @Sendable (Submission) -> Void = { submission in
            exchange.letGo(budget)
            switch submission {
            case .stored(let invalid):
                finish(service.answer(request, events: events, faults: Desk.merge(faults, invalid)))
            case .overloaded(let seconds): finish(service.answer(request, refused: .overloaded(retryAfter: seconds)))
            case .closing: finish(service.answer(request, refused: .closing))
            }
        }
        if !sink.submit(lines, source: source, answer: answer) { answer(.overloaded(retryAfter: Desk.pause)) }
    }

    private func translate(_ exchange: Exchange, _ request: Request, _ service: any Service, _ translation: inout Translation)
        throws(Refusal)
    {
        var body = exchange.takeBody()
        if let header = request.header("content-encoding") {
            let codings = try ContentCoding.parse(header, most: limits.codings)
            if !codings.isEmpty {
                let budget = budget
                body = try ContentCoding.decode(body, codings, limits: limits) { (bytes) throws(Refusal) in
                    guard budget.take(bytes) else { throw .overloaded(retryAfter: Desk.pause) }
                    exchange.held += bytes
                }
            }
        }
        guard body.count <= limits.decoded else { throw .tooLarge("the body has more than \(limits.decoded) bytes") }
        guard body.count < Block.most else { throw .tooLarge("the body has more than \(Block.most) bytes") }
        // The lines are about as long as the body.
        guard budget.take(body.count) else { throw .overloaded(retryAfter: Desk.pause) }
        exchange.held += body.count
        try translate(body, request, service, &translation)
        if service.hasKeyInBody { try keys.judge(service.key(of: request) ?? translation.key, dialect: service.name) }
    }

    /// The body is borrowed, so that it lives for as long as the service reads its bytes.
    private func translate(
        _ body: borrowing ByteBuffer, _ request: Request, _ service: any Service, _ translation: inout Translation
    ) throws(Refusal) {
        try service.translate(body.bytes, of: request, into: &translation)
    }

    /// The faults of both, by event. A line's number counts only the events that became lines.
    static func merge(_ faults: [EventFault], _ invalid: [InvalidLine]) -> [EventFault] {
        if invalid.isEmpty { return faults }
        if faults.isEmpty { return invalid.map { EventFault(event: $0.line, message: $0.message) } }
        var merged: [EventFault] = []
        var next = 0
        for line in invalid {
            while next < faults.count, faults[next].event <= line.line + next {
                merged.append(faults[next])
                next += 1
            }
            merged.append(EventFault(event: line.line + next, message: line.message))
        }
        return merged + faults[next...]
    }
}
