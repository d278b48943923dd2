// Asks a module what it would send, and whether its destination accepts the credentials. Both entries of its table are optional. What the
// module passes is foreign: texts are bounded, masked and escaped, and an index outside the batch is left out.

internal import CSwitchyardPlugin
internal import Document
public import Platform

/// What a module would send for some events. It is for people: nothing in it holds a secret that the router knows, or a control character,
/// except that a body is as the module passed it, with secrets masked.
public struct WirePreview: Sendable, Equatable {
    public struct Request: Sendable, Equatable {
        public var method: String
        public var url: String
        public var headers: [String]
        public var body: [UInt8]
        /// True if the body was longer than is kept.
        public var isCut = false
        /// For each part of the body, the index of its event. An index may come twice.
        public var events: [Int]

        public init(method: String, url: String, headers: [String], body: [UInt8], events: [Int]) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.events = events
        }
    }

    public var requests: [Request] = []
    /// The events that the module would refuse, each with its reason.
    public var refused: [Int: String] = [:]
    /// What would be lost of events that are sent.
    public var losses: [Int: [String]] = [:]

    public init() {}

    /// The most requests, and the most bytes of a body, that are kept.
    public static let mostRequests = 10_000
    public static let mostBody = 2 << 20
}

/// What a probe has found out.
public struct ProbeFinding: Sendable, Equatable {
    public enum Kind: String, Sendable {
        /// The destination accepts the credentials and the settings that it can judge.
        case accepted
        case refused
        /// The destination was reached, and it cannot be asked about the credentials.
        case reached
        /// There was no answer that says anything.
        case failed
    }
    public var kind: Kind
    public var code: Int
    public var message: String

    public init(_ kind: Kind, code: Int = 0, _ message: String) {
        self.kind = kind
        self.code = code
        self.message = message
    }
}

extension ModuleInstance {
    public var canPreview: Bool { table.preview != nil }
    public var canProbe: Bool { table.probe != nil }

    /// Returns what the module would send for these events. It returns nil if the module cannot say that. Do not call it during a delivery.
    public func preview(_ batch: any BorrowedBatch) -> WirePreview? {
        guard let preview = table.preview, enter() else { return nil }
        defer { leave() }
        let reader = PreviewReader(events: batch.count, hiding: callbacks.hidden)
        let loan = Callbacks.Borrow(batch, attempt: 1, token: 0)
        var sink = switchyard_preview(
            struct_size: UInt32(MemoryLayout<switchyard_preview>.size), context: Unmanaged.passUnretained(reader).toOpaque(),
            request: { context, request in
                guard let request else { return }
                PreviewReader.of(context)?.add(request)
            },
            refused: { context, index, reason in PreviewReader.of(context)?.refuse(index, reason) },
            loses: { context, index, what in PreviewReader.of(context)?.lose(index, what) })
        withExtendedLifetime((reader, loan)) { visitor.during(.inquire) { preview(handle, loan.table, &sink) } }
        return reader.preview
    }

    /// Asks the destination, and returns within the time and a second, even if the module does not return. It returns nil if the module
    /// cannot ask. Do not call it during a delivery.
    public func probe(within time: Duration, clock: Clock = .system) -> ProbeFinding? {
        guard table.probe != nil else { return nil }
        let answer = ProbeAnswer(hidden: callbacks.hidden)
        // A module that does not return keeps this thread, and the answer, for ever.
        Thread.start("probe") { [self] in
            guard enter() else { return answer.put(ProbeFinding(.failed, "the provider is closed")) }
            let context = Unmanaged.passRetained(answer)
            visitor.during(.inquire) {
                table.probe(handle, UInt64(clamping: time.nanoseconds / 1_000_000), context.toOpaque()) { context, kind, code, message in
                    guard let context else { return }
                    Unmanaged<ProbeAnswer>.fromOpaque(context).takeUnretainedValue().take(kind, code, message)
                }
            }
            leave()
            answer.put(ProbeFinding(.failed, "the module gave no answer"))
            context.release()
        }.detach()
        return answer.wait(until: clock.now() + time + .seconds(1), clock)
    }
}

/// Collects what a module passes. Only the thread of the call uses it.
private final class PreviewReader {
    private let count: Int
    private let hidden: HiddenTexts
    private(set) var preview = WirePreview()
    private static let mostLosses = 32

    init(events count: Int, hiding hidden: HiddenTexts) {
        self.count = count
        self.hidden = hidden
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> PreviewReader? {
        context.map { Unmanaged<PreviewReader>.fromOpaque($0).takeUnretainedValue() }
    }

    func add(_ raw: UnsafePointer<switchyard_request>) {
        guard preview.requests.count < WirePreview.mostRequests, Int(raw.pointee.struct_size) >= MemoryLayout<switchyard_request>.size
        else { return }
        let request = raw.pointee
        var events: [Int] = []
        if let list = request.events, (1...ForeignText.absurd).contains(request.events_count) {
            events = UnsafeBufferPointer(start: list, count: request.events_count).filter { $0 < UInt64(count) }.map { Int($0) }
        }
        let headers = String(decoding: bytes(request.headers, most: 64 << 10).bytes, as: UTF8.self)
        let (body, isCut) = bytes(request.body, most: WirePreview.mostBody)
        var added = WirePreview.Request(
            method: text(request.method, most: 64), url: text(request.url, most: 4096),
            headers: headers.split(whereSeparator: \.isNewline).map { ForeignText.harmless(String($0)) }, body: body, events: events)
        added.isCut = isCut
        preview.requests.append(added)
    }

    func refuse(_ index: UInt64, _ reason: switchyard_bytes) {
        guard index < UInt64(count) else { return }
        preview.refused[Int(index)] = text(reason, most: 512)
    }

    func lose(_ index: UInt64, _ what: switchyard_bytes) {
        guard index < UInt64(count), preview.losses[Int(index)]?.count ?? 0 < PreviewReader.mostLosses else { return }
        preview.losses[Int(index), default: []].append(text(what, most: 512))
    }

    private func text(_ bytes: switchyard_bytes, most: Int) -> String { ForeignText.read(bytes, most: most, hiding: hidden) }

    private func bytes(_ bytes: switchyard_bytes, most: Int) -> (bytes: [UInt8], isCut: Bool) {
        guard (0...ForeignText.absurd).contains(bytes.size), let data = bytes.data else { return ([], bytes.size != 0) }
        let all = UnsafeBufferPointer(start: data, count: bytes.size)
        let isCut = all.count > most
        return (hidden.masked(all, before: min(all.count, most), isCut: isCut), isCut)
    }
}

/// The one answer of a probe. A second one is ignored.
private final class ProbeAnswer: Sendable {
    private let hidden: HiddenTexts
    private let found = Monitor<ProbeFinding?>(nil)

    init(hidden: HiddenTexts) { self.hidden = hidden }

    func put(_ finding: ProbeFinding) {
        found.withLock { if $0 == nil { $0 = finding } }
        found.wake()
    }

    func take(_ kind: UInt32, _ code: Int32, _ message: switchyard_bytes) {
        let words = ForeignText.read(message, most: 1024, hiding: hidden)
        let known: ProbeFinding.Kind? =
            switch kind {
            case SWITCHYARD_PROBE_ACCEPTED.rawValue: .accepted
            case SWITCHYARD_PROBE_REFUSED.rawValue: .refused
            case SWITCHYARD_PROBE_REACHED.rawValue: .reached
            case SWITCHYARD_PROBE_FAILED.rawValue: .failed
            default: nil
            }
        put(
            known.map { ProbeFinding($0, code: Int(code), words) }
                ?? ProbeFinding(.failed, "the module gave an answer of the unknown kind \(kind)"))
    }

    func wait(until: Instant, _ clock: Clock) -> ProbeFinding {
        found.waitUntilReady { found in
            if let found { return .ready(found) }
            return clock.now() >= until ? .ready(ProbeFinding(.failed, "the module did not answer in time")) : .notBefore(until)
        }
    }
}
