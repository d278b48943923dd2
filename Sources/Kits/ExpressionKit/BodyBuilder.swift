// Builds the requests of a batch by the expressions of the settings. The same events always give the same bodies: it reads neither the clock
// nor chance, and `now` is the time at which an event arrived. An event whose body cannot be built is refused by itself, with the reason.

internal import CCrypto
internal import Events
internal import Expressions
public import HTTPKit
public import PluginKit

public final class BodyBuilder {
    /// The most bytes of one event in a body, and of all bodies of a call. Values may hold a part of an event many times.
    static let mostBytesOfEvent = 16 << 20
    static let mostBytesOfCall = 64 << 20

    /// An event in the body of a request.
    private struct Piece {
        let event: Int32
        let place: Int
        let range: Range<Int>
        let id: [UInt8]?
    }

    private struct Body {
        let place: Int
        var pieces: [Int] = []
        var bytes: Int
    }

    /// Why an event cannot be part of a body.
    private struct Refusal: Error {
        let reason: String
    }

    private let rules: BodyRules
    private let answers: AnswerRules?
    private let target: Target
    private let secrets: Secrets
    private let note: @Sendable (String) -> Void
    private let compressor: (any BodyCompressor)?
    /// The URL of the target without its query and without a slash at the end, and the query with its question mark.
    private let base: String
    private let query: String

    private let needsScan: Bool
    private let idSlot: Int?
    private var scanner: Scanner
    private var evaluator: Evaluator
    private let each: Int?
    private let path: Int?
    private let method: Int?
    private var padded = PaddedLines()
    private var values = ByteBuffer()
    private var plain = ByteBuffer()

    /// `note` gets a line for the log when an answer holds something that it should not.
    public init(
        _ rules: BodyRules, answers: AnswerRules?, target: Target, compression: Compression, secrets: Secrets,
        note: @escaping @Sendable (String) -> Void
    ) throws(SettingsFault) {
        self.rules = rules
        self.answers = answers
        self.target = target
        self.secrets = secrets
        self.note = note
        compressor = try compression.compressor()
        var base = target.address.text
        if let mark = base.firstIndex(of: "?") {
            query = String(base[mark...])
            base = String(base[..<mark])
        } else {
            query = ""
        }
        if rules.pathOfEach != nil { while base.hasSuffix("/") { base.removeLast() } }
        self.base = base

        let expressions = [rules.each, rules.pathOfEach, rules.methodOfEach]
        let used = expressions.compactMap { $0 }
        let id = Path(keys: ["messageId"])
        let needsID = answers?.namesByID ?? false
        let trie = PathTrie(Array(Set(used.flatMap(\.paths) + (needsID ? [id] : []))))
        needsScan = needsID || !used.isEmpty
        idSlot = needsID ? trie.slot(of: id) : nil
        scanner = Scanner(trie, depth: Scanner.deepest)
        evaluator = Evaluator(ExpressionSet(used, paths: trie), constants: rules.constants)
        func index(_ place: Int) -> Int? { expressions[place] == nil ? nil : expressions[..<place].count { $0 != nil } }
        each = index(0)
        path = index(1)
        method = index(2)
    }

    /// Returns the requests of a batch, or nil if there is no memory for the compression. The batch must outlive this call only.
    public func requests(_ lines: Lines, arrivals: UnsafeBufferPointer<Int64>) -> BuiltRequests? {
        values.removeAll()
        padded.begin(lines)
        var pieces: [Piece] = []
        var places: [Place?] = []
        var paths: [RequestPath] = []
        var placeByKey: [String: Int] = [:]
        var settled: [(event: Int, outcome: Outcome)] = []
        for index in 0..<lines.count {
            guard pieces.isEmpty || values.count < BodyBuilder.mostBytesOfCall else {
                settled.append((index, .retry("the bodies of the events before it are as many bytes as fit into one call")))
                continue
            }
            let start = values.count
            do throws(Refusal) {
                let (method, path, id) = try build(index, lines, arrival: arrivals[index])
                let key = "\(method.rawValue) \(path.text)"
                let place = placeByKey[key] ?? places.count
                if place == places.count {
                    placeByKey[key] = place
                    places.append(rules.methodOfEach == nil && rules.pathOfEach == nil ? nil : Place(method, ""))
                    paths.append(path)
                }
                pieces.append(Piece(event: Int32(index), place: place, range: start..<values.count, id: id))
            } catch {
                values.truncate(to: start)
                settled.append((index, .rejected(error.reason)))
            }
        }
        let requests = BuiltRequests(
            events: lines.count, settled: settled, answers: answers, origin: target.address.origin, secrets: secrets, note: note)
        var packed: [UInt8] = []
        for body in bodies(of: pieces) {
            write(body, of: pieces)
            var place = places[body.place]
            if place != nil { place?.url = base + paths[body.place].text(hash: hash(for: paths[body.place])) + query }
            if let compressor {
                guard compressor.append(plain.bytes, to: &packed) else { return nil }
            } else {
                packed.append(contentsOf: plain.bytes)
            }
            requests.add(
                place, events: body.pieces.map { pieces[$0].event }, ids: idSlot == nil ? [] : body.pieces.map { pieces[$0].id },
                end: packed.count)
        }
        packed.withUnsafeBytes { requests.own($0) }
        return requests
    }

    // MARK: - Events

    /// Appends the value of an event. Returns where it goes, and its id.
    private func build(_ index: Int, _ lines: Lines, arrival: Int64) throws(Refusal) -> (Target.Method, RequestPath, [UInt8]?) {
        let text = lines.text(of: index)
        guard needsScan else {
            values.append(contentsOf: text)
            try finish(text.count)
            return (rules.method, RequestPath(text: ""), nil)
        }
        guard let line = padded.line(index), let event = scanner.scan(line, 0) else {
            throw Refusal(reason: "the event cannot be read: \(scanner.fault.message)")
        }
        let around = EvaluationContext(now: arrival)
        var method = rules.method
        if let expression = self.method {
            let value = try value(expression, of: event, around, setting: "method.each")
            guard case .string(let text) = value, let known = Target.Method(rawValue: text.string),
                Target.Method.ofEvents.contains(known)
            else {
                throw Refusal(reason: "method.each gives none of \(Target.Method.ofEvents.map(\.rawValue).joined(separator: ", "))")
            }
            method = known
        }
        var path = RequestPath(text: "")
        if let expression = self.path {
            guard case .string(let text) = try value(expression, of: event, around, setting: "path") else {
                throw Refusal(reason: "path gives no text")
            }
            switch RequestPath.read(text.bytes) {
            case .success(let read): path = read
            case .failure(let fault): throw Refusal(reason: "path gives \(fault.words)")
            }
        }
        let start = values.count
        if let each {
            try append(try value(each, of: event, around, setting: "body.each"))
        } else {
            values.append(contentsOf: text)
        }
        try finish(values.count - start)
        return (method, path, id(of: event))
    }

    private func value(
        _ expression: Int, of event: ScannedEvent, _ around: EvaluationContext, setting: String
    ) throws(Refusal) -> Value {
        switch evaluator.value(expression, event: event, around: around) {
        case .success(let value): return value
        case .failure(let fault): throw Refusal(reason: "\(setting): \(fault)")
        }
    }

    /// Appends the value that `body.each` gives: as JSON, or as lines if nothing stands around the events.
    private func append(_ value: Value) throws(Refusal) {
        guard rules.envelope.isLines else { return try appendJSON(value) }
        var refusal: Refusal?
        var count = 0
        let isList = value.forEachElement { element in
            if count > 0 { values.append(UInt8(ascii: "\n")) }
            count += 1
            do throws(Refusal) {
                guard let element else { throw Refusal(reason: "body.each gives a text with half of a surrogate pair") }
                try appendLine(element)
            } catch { refusal = error }
            return refusal == nil
        }
        if let refusal { throw refusal }
        guard isList else { return try appendLine(value) }
        guard count > 0 else { throw Refusal(reason: "body.each gives an empty list, so the event has no line") }
    }

    /// Appends a line: a text as it is, and any other value as JSON.
    private func appendLine(_ value: Value) throws(Refusal) {
        guard case .string(let text) = value else { return try appendJSON(value) }
        guard !text.bytes.isEmpty else { throw Refusal(reason: "body.each gives an empty text, so the event has no line") }
        guard !text.bytes.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else {
            throw Refusal(reason: "body.each gives a text with a line break, which would be more than one line")
        }
        text.bytes.withUnsafeBytes { values.append(contentsOf: $0) }
    }

    private func appendJSON(_ value: Value) throws(Refusal) {
        guard value.writeJSON(to: &values, most: values.count + BodyBuilder.mostBytesOfEvent) else {
            throw Refusal(reason: "body.each gives a value that is nested too deep or has more than \(BodyBuilder.mostBytesOfEvent) bytes")
        }
    }

    /// Ends the value of an event, which has `count` bytes so far.
    private func finish(_ count: Int) throws(Refusal) {
        if rules.envelope.isLines { values.append(UInt8(ascii: "\n")) }
        let whole = count + (rules.envelope.isLines ? 1 : 0) + rules.envelope.overhead
        guard whole <= rules.mostBytes else {
            throw Refusal(reason: "the body of this event alone has \(whole) bytes, and body.bytes allows \(rules.mostBytes)")
        }
    }

    /// Returns the message id as the answer of a server would name it.
    private func id(of event: ScannedEvent) -> [UInt8]? {
        guard let idSlot, event.slots[idSlot].isPresent else { return nil }
        guard let body = Text.stringBody(event.block, event.slots[idSlot]) else { return nil }
        return Text.withText(body) { $0.map { Array($0) } }
    }

    // MARK: - Bodies

    /// Joins events with the same place to bodies, in their order, as long as they stay under the limits.
    private func bodies(of pieces: [Piece]) -> [Body] {
        var bodies: [Body] = []
        var open: [Int: Int] = [:]
        for (index, piece) in pieces.enumerated() {
            if let at = open[piece.place], bodies[at].pieces.count < rules.mostEvents,
                piece.range.count + rules.envelope.between.count <= rules.mostBytes - bodies[at].bytes
            {
                bodies[at].pieces.append(index)
                bodies[at].bytes += piece.range.count + rules.envelope.between.count
            } else {
                open[piece.place] = bodies.count
                bodies.append(Body(place: piece.place, pieces: [index], bytes: piece.range.count + rules.envelope.overhead))
            }
        }
        return bodies
    }

    private func write(_ body: Body, of pieces: [Piece]) {
        plain.removeAll()
        plain.reserve(body.bytes)
        rules.envelope.before.withUnsafeBytes { plain.append(contentsOf: $0) }
        for (number, index) in body.pieces.enumerated() {
            if number > 0 { rules.envelope.between.withUnsafeBytes { plain.append(contentsOf: $0) } }
            plain.append(contentsOf: UnsafeRawBufferPointer(rebasing: values.bytes[pieces[index].range]))
        }
        rules.envelope.after.withUnsafeBytes { plain.append(contentsOf: $0) }
        assert(plain.count == body.bytes && body.bytes <= rules.mostBytes, "a body is larger than was computed")
    }

    /// Returns the hash of the body that was written last, if the path holds it.
    private func hash(for path: RequestPath) -> String {
        guard path.holdsPart else { return "" }
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_sha256(plain.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), plain.count, &digest)
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
