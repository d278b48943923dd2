// The bodies of the frames that answer a preview and a probe, behind their token. Each is a 1 (4), or a 0 (4) and nothing more if the module
// cannot say it. What follows the 1:
//  28 previewed  count of requests (4), for each: method, URL, count of headers (4), each header, body (in the form of a text), 1 if the
//                body was cut or 0 (4), count of events (4), the index of each (8); count of refused events (4), for each: index (8),
//                reason; count of losses (4), for each: index (8), what is lost; 1 if something was left out or 0 (4)
//  29 probed     kind (4, as in switchyard_plugin.h), code (4, signed), message

internal import Document

extension FrameBody {
    mutating func put(_ preview: WirePreview?) {
        put(UInt32(preview == nil ? 0 : 1))
        guard let preview else { return }
        put(UInt32(preview.requests.count))
        for request in preview.requests {
            put(request.method)
            put(request.url)
            put(UInt32(request.headers.count))
            for header in request.headers { put(header) }
            put(request.body)
            put(UInt32(request.isCut ? 1 : 0))
            put(UInt32(request.events.count))
            for event in request.events { put(UInt64(event)) }
        }
        put(UInt32(preview.refused.count))
        for (index, reason) in preview.refused.sorted(by: { $0.key < $1.key }) {
            put(UInt64(index))
            put(reason)
        }
        put(UInt32(preview.losses.values.reduce(0) { $0 + $1.count }))
        for (index, losses) in preview.losses.sorted(by: { $0.key < $1.key }) {
            for loss in losses {
                put(UInt64(index))
                put(loss)
            }
        }
        put(UInt32(preview.isCut ? 1 : 0))
    }

    mutating func put(_ finding: ProbeFinding?) {
        put(UInt32(finding == nil ? 0 : 1))
        guard let finding else { return }
        put(finding.kind.number)
        put(Int32(clamping: finding.code))
        put(finding.message)
    }
}

extension FrameParts {
    /// Reads the preview of a batch of `total` events.
    mutating func preview(of total: Int, hiding hidden: HiddenTexts) throws(FrameFault) -> WirePreview? {
        guard try flag() else { return nil }
        var preview = WirePreview()
        // A request takes at least the lengths of its six parts.
        let requests = try count(most: WirePreview.mostRequests, of: 24)
        for _ in 0..<requests { preview.requests.append(try request(of: total, hiding: hidden)) }
        let refused = try count(of: 12)
        for _ in 0..<refused {
            let index = try self.index(below: total)
            let reason = try text(hiding: hidden)
            guard preview.refused.updateValue(reason, forKey: index) == nil else { throw FrameFault(what: "two refusals of one event") }
        }
        let losses = try count(of: 12)
        for _ in 0..<losses {
            let index = try self.index(below: total)
            preview.losses[index, default: []].append(try text(hiding: hidden))
        }
        preview.isCut = try flag()
        return preview
    }

    private mutating func request(of total: Int, hiding hidden: HiddenTexts) throws(FrameFault) -> WirePreview.Request {
        var request = WirePreview.Request(
            method: try text(hiding: hidden), url: try text(hiding: hidden), headers: [], body: [], events: [])
        let headers = try count(of: 4)
        for _ in 0..<headers { request.headers.append(try text(most: WirePreview.mostBody, hiding: hidden)) }
        let body: UnsafeBufferPointer<UInt8> = try blob().assumingMemoryBound(to: UInt8.self)
        guard body.count <= WirePreview.mostBody else { throw FrameFault(what: "a body of \(body.count) bytes") }
        request.isCut = try flag()
        request.body = hidden.masked(body, before: body.count, isCut: request.isCut)
        let events = try count(of: 8)
        for _ in 0..<events { request.events.append(try index(below: total)) }
        return request
    }

    mutating func finding(hiding hidden: HiddenTexts) throws(FrameFault) -> ProbeFinding? {
        guard try flag() else { return nil }
        let number = try number(UInt32.self)
        guard let kind = ProbeFinding.Kind(number: number) else { throw FrameFault(what: "a finding of the unknown kind \(number)") }
        return ProbeFinding(kind, code: Int(try self.number(Int32.self)), try text(hiding: hidden))
    }

    private mutating func flag() throws(FrameFault) -> Bool {
        let number = try number(UInt32.self)
        guard number <= 1 else { throw FrameFault(what: "\(number) in place of 0 or 1") }
        return number == 1
    }

    /// Reads a count of things of which each takes at least `size` bytes. So a wrong count cannot cause more memory use than the size of its
    /// frame justifies.
    private mutating func count(most: Int = .max, of size: Int) throws(FrameFault) -> Int {
        let count = Int(try number(UInt32.self))
        guard count <= min(most, left / size) else { throw FrameFault(what: "a count beyond the frame") }
        return count
    }

    private mutating func index(below total: Int) throws(FrameFault) -> Int {
        let index = try number(UInt64.self)
        guard index < UInt64(total) else { throw FrameFault(what: "an event that its batch does not have") }
        return Int(index)
    }
}
