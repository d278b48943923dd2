// Asks a module of this process what it would send, and whether its destination accepts the credentials. Both entries of its table are optional. What the
// module passes is foreign: texts are bounded, masked and escaped, and an index outside the batch is left out.

internal import CSwitchyardPlugin
internal import Document
internal import Platform

extension ModuleInstance: Inquirable {
    public var canPreview: Bool { table.preview != nil }
    public var canProbe: Bool { table.probe != nil }

    /// It also returns nil if the instance is closed.
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

    public func probe(within time: Duration) -> ProbeFinding? { probe(within: time, clock: .system) }

    /// Asks the destination, and returns within the time and a second.
    func probe(within time: Duration, clock: Clock) -> ProbeFinding? {
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
    /// The bytes that may still be kept.
    private var room = WirePreview.mostBytes
    private static let mostLosses = 32
    /// What the numbers of a request, a refusal or a loss take in a frame, at most.
    private static let mostNumbers = 64

    init(events count: Int, hiding hidden: HiddenTexts) {
        self.count = count
        self.hidden = hidden
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> PreviewReader? {
        context.map { Unmanaged<PreviewReader>.fromOpaque($0).takeUnretainedValue() }
    }

    func add(_ raw: UnsafePointer<switchyard_request>) {
        guard Int(raw.pointee.struct_size) >= MemoryLayout<switchyard_request>.size else { return }
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
        let heads = added.headers.reduce(added.method.utf8.count + added.url.utf8.count) { $0 + $1.utf8.count + 4 }
        let isMany = preview.requests.count >= WirePreview.mostRequests
        if !isMany, fits(heads + body.count + 8 * events.count) { preview.requests.append(added) } else { preview.isCut = true }
    }

    func refuse(_ index: UInt64, _ reason: switchyard_bytes) {
        guard index < UInt64(count) else { return }
        let reason = text(reason, most: 512)
        if fits(reason.utf8.count) { preview.refused[Int(index)] = reason }
    }

    func lose(_ index: UInt64, _ what: switchyard_bytes) {
        guard index < UInt64(count), preview.losses[Int(index)]?.count ?? 0 < PreviewReader.mostLosses else { return }
        let loss = text(what, most: 512)
        if fits(loss.utf8.count) { preview.losses[Int(index), default: []].append(loss) }
    }

    /// Returns true if there is room for so many bytes, and takes it.
    private func fits(_ size: Int) -> Bool {
        guard size + PreviewReader.mostNumbers <= room else {
            preview.isCut = true
            return false
        }
        room -= size + PreviewReader.mostNumbers
        return true
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
final class ProbeAnswer: Sendable {
    private let hidden: HiddenTexts
    private let found = Monitor<ProbeFinding?>(nil)

    init(hidden: HiddenTexts) { self.hidden = hidden }

    func put(_ finding: ProbeFinding) {
        found.withLock { if $0 == nil { $0 = finding } }
        found.wake()
    }

    func take(_ kind: UInt32, _ code: Int32, _ message: switchyard_bytes) {
        let words = ForeignText.read(message, most: 1024, hiding: hidden)
        put(
            ProbeFinding.Kind(number: kind).map { ProbeFinding($0, code: Int(code), words) }
                ?? ProbeFinding(.failed, "the module gave an answer of the unknown kind \(kind)"))
    }

    func wait(until: Instant, _ clock: Clock) -> ProbeFinding {
        found.waitUntilReady { found in
            if let found { return .ready(found) }
            return clock.now() >= until ? .ready(ProbeFinding(.failed, "the module did not answer in time")) : .notBefore(until)
        }
    }
}
