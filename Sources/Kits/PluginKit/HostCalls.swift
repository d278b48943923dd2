// Wraps the host's C table in closures, and turns outcomes into the C values that the host takes.

extension HostLink {
    /// Copies the functions and the context of the table, since nothing else of it is needed. An older host may lack the last members.
    convenience init(_ host: UnsafePointer<switchyard_host>) {
        nonisolated(unsafe) let context = host.pointee.context
        let size = Int(host.pointee.struct_size)
        func has(_ member: PartialKeyPath<switchyard_host>) -> Bool {
            MemoryLayout<switchyard_host>.offset(of: member).map { $0 + MemoryLayout<UnsafeRawPointer>.size <= size } ?? false
        }
        let log = has(\.log) ? host.pointee.log : nil
        let complete = has(\.complete) ? host.pointee.complete : nil
        let closed = has(\.closed) ? host.pointee.closed : nil
        let mayBegin = has(\.may_begin) ? host.pointee.may_begin : nil
        self.init(
            log: { level, message in message.withBytes { log?(context, level.rawValue, $0) } },
            closed: { message in message.withBytes { closed?(context, $0) } },
            complete: { token, outcome in outcome.withC { complete?(context, token, $0, $1, $2) } },
            mayBegin: { token, events in mayBegin.map { $0(context, token, events?.baseAddress, events?.count ?? 0) != 0 } ?? true })
    }
}

extension String {
    func withBytes(_ body: (switchyard_bytes) -> Void) {
        var copy = self
        copy.withUTF8 { body(switchyard_bytes(data: $0.baseAddress, size: $0.count)) }
    }
}

extension Outcome {
    /// Calls `body` with the outcome as C values: the outcome of the batch, and the outcomes of its events by rising index. The values live
    /// until `body` returns.
    func withC(
        _ body: (UnsafePointer<switchyard_outcome>, UnsafePointer<switchyard_event_outcome>?, Int) -> Void
    ) {
        var rest = self
        var exceptions: [(index: Int, outcome: Outcome)] = []
        if case .mixed(let others, let events) = self { (rest, exceptions) = (others, events.sorted { $0.index < $1.index }) }

        // All messages are in one buffer, so one pointer keeps all of them alive.
        var messages: [UInt8] = []
        let parts = ([rest] + exceptions.map(\.outcome)).map { outcome in
            let (value, message) = outcome.plain
            let start = messages.count
            messages += Array(message.utf8)
            return (value: value, range: start..<messages.count)
        }
        messages.withUnsafeBufferPointer { text in
            func outcome(_ part: Int) -> switchyard_outcome {
                var value = parts[part].value
                let bytes = UnsafeBufferPointer(rebasing: text[parts[part].range])
                value.message = switchyard_bytes(data: bytes.baseAddress, size: bytes.count)
                return value
            }
            var batch = outcome(0)
            let events = exceptions.indices.map {
                switchyard_event_outcome(index: UInt64(max(0, exceptions[$0].index)), outcome: outcome($0 + 1))
            }
            events.withUnsafeBufferPointer { body(&batch, $0.isEmpty ? nil : $0.baseAddress, $0.count) }
        }
    }

    private var plain: (switchyard_outcome, String) {
        func make(_ kind: switchyard_outcome_kind, code: Int, message: String, after: UInt64 = 0) -> (switchyard_outcome, String) {
            (switchyard_outcome(kind: UInt32(kind.rawValue), code: Int32(clamping: code), retry_after_ms: after, message: .init()), message)
        }
        switch self {
        case .delivered: return make(SWITCHYARD_DELIVERED, code: 0, message: "")
        case .rejected(let code, let message): return make(SWITCHYARD_REJECTED, code: code, message: message)
        case .retry(let code, let message, let after): return make(SWITCHYARD_RETRY, code: code, message: message, after: after ?? 0)
        case .unknown(let code, let message): return make(SWITCHYARD_UNKNOWN, code: code, message: message)
        case .fault(let code, let message): return make(SWITCHYARD_FAULT, code: code, message: message)
        case .closed(let message): return make(SWITCHYARD_CLOSED, code: 0, message: message)
        case .untried: return make(SWITCHYARD_UNTRIED, code: 0, message: "")
        // An event has one outcome. A mixture inside a mixture becomes its `rest`.
        case .mixed(let rest, _): return rest.plain
        }
    }
}
