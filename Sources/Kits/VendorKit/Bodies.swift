// Joins wire events to the bodies of requests: events with the same endpoint and the same group share a body, in their order, as long as
// they stay under its limits.

internal import Events

/// One body: its wire events in order.
struct Body {
    let endpoint: Endpoint.ID
    /// The group, as a range of the buffer.
    let group: Range<Int>
    var events: [Int32]
    /// The bytes of the events and of what stands between them.
    var bytes: Int
}

struct Bodies {
    private(set) var bodies: [Body] = []
    /// The open body of each endpoint for events without a group.
    private var plain: [Int?]
    private var grouped: [GroupKey: Int] = [:]
    private let endpoints: [Endpoint]

    /// Two groups with the same hash get different numbers.
    private struct GroupKey: Hashable {
        var endpoint: Int32
        var hash: Int
        var number = 0
    }

    init(_ wire: borrowing WireEvents, _ endpoints: [Endpoint]) {
        self.endpoints = endpoints
        plain = Array(repeating: nil, count: endpoints.count)
        let buffer = wire.buffer.bytes
        for (index, event) in wire.events.enumerated() { add(event, Int32(index), buffer) }
    }

    private mutating func add(_ event: WireEvent, _ index: Int32, _ buffer: UnsafeRawBufferPointer) {
        let group = event.group..<event.start
        guard !group.isEmpty else {
            plain[Int(event.endpoint)] = put(event, index, into: plain[Int(event.endpoint)])
            return
        }
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: buffer[group]))
        var key = GroupKey(endpoint: event.endpoint, hash: hasher.finalize())
        while let known = grouped[key], !isSame(bodies[known].group, group, buffer) { key.number += 1 }
        grouped[key] = put(event, index, into: grouped[key])
    }

    private func isSame(_ a: Range<Int>, _ b: Range<Int>, _ buffer: UnsafeRawBufferPointer) -> Bool {
        a.count == b.count && buffer[a].elementsEqual(buffer[b])
    }

    /// Puts an event into an open body, or into a new one. Returns the index of the body.
    private mutating func put(_ event: WireEvent, _ index: Int32, into open: Int?) -> Int {
        let endpoint = endpoints[Int(event.endpoint)]
        let size = event.end - event.start
        if let open {
            let bytes = bodies[open].bytes + endpoint.envelope.between.count + size
            if bodies[open].events.count < endpoint.limits.events,
                bytes + bodies[open].group.count + endpoint.envelope.overhead <= endpoint.limits.body
            {
                bodies[open].events.append(index)
                bodies[open].bytes = bytes
                return open
            }
        }
        bodies.append(
            Body(endpoint: Endpoint.ID(index: Int(event.endpoint)), group: event.group..<event.start, events: [index], bytes: size))
        return bodies.count - 1
    }

    /// Appends the bytes of a body.
    static func write(_ body: Body, of wire: borrowing WireEvents, _ envelope: Envelope, into out: inout ByteBuffer) {
        let buffer = wire.buffer.bytes
        let contents = Envelope.Contents(
            group: UnsafeRawBufferPointer(rebasing: buffer[body.group]), events: body.events.count, bytes: body.bytes)
        let before = envelope.before(contents)
        assert(before.count <= envelope.overhead - envelope.after.count + body.group.count, "an envelope is larger than it says")
        out.reserve(before.count + body.bytes + envelope.after.count)
        before.withUnsafeBytes { out.append(contentsOf: $0) }
        for (place, index) in body.events.enumerated() {
            if place > 0 { envelope.between.withUnsafeBytes { out.append(contentsOf: $0) } }
            let event = wire.events[Int(index)]
            out.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[event.start..<event.end]))
        }
        envelope.after.withUnsafeBytes { out.append(contentsOf: $0) }
    }
}
