// What a provider can say besides delivering: what it would send, and whether its destination accepts the credentials. Both are optional.
// Conformance to the protocol announces it in the module's table.

/// A provider that can say what it would send.
public protocol Previewer: Adapter {
    /// Returns what `deliver` would send for these events, or why it would refuse them. It never connects, opens or writes anything, and
    /// it changes nothing that a later call could notice.
    func preview(_ batch: borrowing Batch) -> Preview
}

/// A provider that can ask its destination whether the credentials are right.
public protocol Prober: Adapter {
    /// Asks the destination, without sending an event and without storing anything there. It returns within that many milliseconds.
    func probe(within milliseconds: Int) -> Probe
}

/// What a provider would send for some events. No text of it holds a secret.
public struct Preview: Sendable {
    public struct Request: Sendable {
        public var method: String
        public var url: String
        /// The headers, such as `Content-Type: application/json`.
        public var headers: [String]
        /// The body before it is compressed.
        public var body: [UInt8]
        /// For each part of the body, the index of its event.
        public var events: [Int]

        public init(method: String, url: String, headers: [String] = [], body: [UInt8], events: [Int]) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.events = events
        }
    }

    public var requests: [Request] = []
    /// The events that would be refused, with the reason.
    public var refused: [(index: Int, reason: String)] = []
    /// The events that would be sent with a loss, such as a text that is cut.
    public var losses: [(index: Int, what: String)] = []

    public init() {}
}

/// What a probe has found out. The text is for people and holds no secret.
public enum Probe: Sendable {
    /// The destination answered, and accepts the credentials and the settings that it can judge.
    case accepted(String)
    /// The destination answered, and refuses them.
    case refused(code: Int = 0, String)
    /// The destination was reached, and it cannot be asked about the credentials without storing something.
    case reached(code: Int = 0, String)
    /// There was no answer that says anything.
    case failed(code: Int = 0, String)
}

// MARK: - The C interface

extension Preview {
    /// Passes the parts to the host. A host that has not all of the functions gets what it has functions for.
    func pass(to sink: UnsafePointer<switchyard_preview>) {
        let size = Int(sink.pointee.struct_size)
        func has(_ member: PartialKeyPath<switchyard_preview>) -> Bool {
            MemoryLayout<switchyard_preview>.offset(of: member).map { $0 + MemoryLayout<UnsafeRawPointer>.size <= size } ?? false
        }
        let context = sink.pointee.context
        if has(\.request), let pass = sink.pointee.request { for one in requests { one.withC { pass(context, $0) } } }
        if has(\.refused), let pass = sink.pointee.refused {
            for (index, reason) in refused { reason.withBytes { pass(context, UInt64(index), $0) } }
        }
        if has(\.loses), let pass = sink.pointee.loses {
            for (index, what) in losses { what.withBytes { pass(context, UInt64(index), $0) } }
        }
    }
}

extension Preview.Request {
    fileprivate func withC(_ body: (UnsafePointer<switchyard_request>) -> Void) {
        let events = events.map { UInt64($0) }
        let lines = headers.map { $0 + "\n" }.joined()
        method.withBytes { method in
            url.withBytes { url in
                lines.withBytes { lines in
                    self.body.withUnsafeBufferPointer { bytes in
                        events.withUnsafeBufferPointer { events in
                            var request = switchyard_request(
                                struct_size: UInt32(MemoryLayout<switchyard_request>.size), method: method, url: url, headers: lines,
                                body: switchyard_bytes(data: bytes.baseAddress, size: bytes.count), events: events.baseAddress,
                                events_count: events.count)
                            body(&request)
                        }
                    }
                }
            }
        }
    }
}

extension Probe {
    /// The parts as the host takes them.
    var parts: (kind: switchyard_probe_kind, code: Int32, words: String) {
        switch self {
        case .accepted(let words): (SWITCHYARD_PROBE_ACCEPTED, 0, words)
        case .refused(let code, let words): (SWITCHYARD_PROBE_REFUSED, Int32(clamping: code), words)
        case .reached(let code, let words): (SWITCHYARD_PROBE_REACHED, Int32(clamping: code), words)
        case .failed(let code, let words): (SWITCHYARD_PROBE_FAILED, Int32(clamping: code), words)
        }
    }
}
