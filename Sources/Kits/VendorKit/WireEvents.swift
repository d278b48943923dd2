// Writes the events of a vendor's API: JSON, or any bytes, into one buffer that is reused. It notes where each event lies, and which
// members of the event have been written, so that `rest` can write all others. It promises that a refused event leaves nothing behind.

internal import Encoding
internal import Events
internal import Glibc

/// Where one wire event lies in the buffer.
struct WireEvent {
    var endpoint: Int32
    /// The index of the event in its batch.
    var event: Int32
    /// The bytes of the group are before the bytes of the event.
    var group: Int
    var start: Int
    var end: Int
}

public struct WireEvents: ~Copyable {
    var buffer = ByteBuffer(capacity: 1 << 16)
    private(set) var events: [WireEvent] = []
    private(set) var refused: [(event: Int, reason: String)] = []
    /// What is lost of events that are sent. It is only noted for a preview.
    private(set) var losses: [(event: Int, what: String)] = []
    /// True if the events are mapped to be shown, and not to be sent. It must not change what is written.
    public private(set) var isPreview = false

    let shape: EventShape
    private let endpoints: [Endpoint]
    private let taken: UnsafeMutablePointer<Bool>
    var needsComma = false
    /// What `withRest` has collected.
    var scratch = ByteBuffer()
    private var current = WireEvent(endpoint: 0, event: 0, group: 0, start: 0, end: 0)
    /// Where the buffer and the list ended before the event that is being mapped.
    private var before = (bytes: 0, events: 0, losses: 0)
    private var refusal: String?
    private var isOpen = false

    init(_ shape: EventShape, _ endpoints: [Endpoint]) {
        self.shape = shape
        self.endpoints = endpoints
        taken = .allocate(capacity: shape.trie.count)
        taken.initialize(repeating: false, count: shape.trie.count)
    }

    deinit { taken.deallocate() }

    // MARK: - The kit's part

    mutating func beginBatch(isPreview: Bool = false) {
        self.isPreview = isPreview
        buffer.removeAll()
        events.removeAll(keepingCapacity: true)
        refused.removeAll()
        losses.removeAll()
    }

    mutating func beginEvent(_ index: Int) {
        before = (buffer.count, events.count, losses.count)
        current.event = Int32(index)
        refusal = nil
        isOpen = false
        taken.update(repeating: false, count: shape.trie.count)
    }

    mutating func endEvent() {
        assert(!isOpen, "a wire event has no end")
        if refusal == nil, events.count == before.events { refusal = "the provider makes nothing of such an event" }
        guard let refusal else { return }
        buffer.truncate(to: before.bytes)
        events.removeLast(events.count - before.events)
        losses.removeLast(losses.count - before.losses)
        refused.append((Int(current.event), refusal))
    }

    // MARK: - Wire events

    /// Begins a wire event for an endpoint.
    public mutating func begin(_ endpoint: Endpoint.ID) {
        assert(!isOpen, "a wire event begins in another one")
        isOpen = true
        needsComma = false
        current.endpoint = Int32(endpoint.index)
        current.group = buffer.count
        current.start = buffer.count
    }

    /// Ends the group of a wire event: what has been written since `begin` belongs to the envelope, and only events with the same bytes of
    /// it share a body.
    public mutating func endGroup() {
        assert(isOpen && current.start == current.group, "a wire event has two groups, or a group has no event")
        current.start = buffer.count
        needsComma = false
    }

    /// Ends a wire event. If it is larger than its endpoint takes, the event is refused.
    public mutating func end() {
        // After a refusal the vendor may write on, and nothing of it is kept.
        assert(isOpen || refusal != nil, "a wire event ends that has not begun")
        isOpen = false
        if refusal != nil { return }
        current.end = buffer.count
        let endpoint = endpoints[Int(current.endpoint)]
        if endpoint.isJSON {
            LoneSurrogates.replace(in: UnsafeMutableBufferPointer(start: buffer.base + current.group, count: current.end - current.group))
        }
        let size = current.end - current.start
        if size > endpoint.limits.event {
            return refuse("the event has \(size) bytes as the destination gets it, which takes at most \(endpoint.limits.event)")
        }
        let body = size + (current.start - current.group) + endpoint.envelope.overhead
        if body > endpoint.limits.body {
            return refuse("the event needs a body of \(body) bytes, and the destination takes at most \(endpoint.limits.body)")
        }
        events.append(current)
    }

    /// Refuses the event, with all of its wire events. The reason is for the operator, and must not show the event's values.
    public mutating func refuse(_ reason: String) {
        if refusal == nil { refusal = reason }
        isOpen = false
    }

    /// Notes that something of the event is not sent, or that the destination will not keep it. The words are for the operator, must not
    /// show the event's values, and are the same for the same kind of loss. They are read only for a preview.
    public mutating func loses(_ what: @autoclosure () -> String) {
        guard isPreview, refusal == nil else { return }
        let what = what()
        if !losses[before.losses...].contains(where: { $0.what == what }) { losses.append((Int(current.event), what)) }
    }

    // MARK: - Members that have been written

    /// Notes that a value has been written, or that nothing of it is to be sent. `rest` leaves it out.
    public mutating func take(_ value: Value?) { if let value { taken[value.slot] = true } }

    func isTaken(_ slot: Int) -> Bool { taken[slot] }

    // MARK: - JSON

    public mutating func openObject() { open(UInt8(ascii: "{")) }
    public mutating func openObject(_ key: StaticString) {
        write(key: key)
        openBare(UInt8(ascii: "{"))
    }
    public mutating func closeObject() { close(UInt8(ascii: "}")) }

    public mutating func openList() { open(UInt8(ascii: "[")) }
    public mutating func openList(_ key: StaticString) {
        write(key: key)
        openBare(UInt8(ascii: "["))
    }
    public mutating func closeList() { close(UInt8(ascii: "]")) }

    /// Writes a member with the value as it is written in the event. Nothing is written for nil.
    public mutating func member(_ key: StaticString, _ value: Value?) {
        guard let value else { return }
        write(key: key)
        append(value)
    }

    /// Writes a member with the value as a text: a number in quotes, a text as it is. Nothing is written for nil.
    public mutating func member(_ key: StaticString, text value: Value?) {
        guard let value else { return }
        write(key: key)
        element(bare: value)
    }

    /// Writes a member with a key of the event.
    public mutating func member(_ key: Value, _ value: Value) {
        write(key: key)
        append(value)
    }

    /// Writes a member whose key is a text of the settings, with the value as a text.
    public mutating func member(key: String, text value: Value) {
        comma()
        quoted(key)
        buffer.append(UInt8(ascii: ":"))
        element(bare: value)
    }

    /// Writes a member with a constant text, which needs no escapes.
    public mutating func member(_ key: StaticString, constant text: StaticString) {
        write(key: key)
        quoted(text)
    }

    /// Writes a member with a text of the settings.
    public mutating func member(_ key: StaticString, string text: String) {
        write(key: key)
        quoted(text)
    }

    public mutating func member(_ key: StaticString, flag: Bool) {
        write(key: key)
        put(flag ? "true" : "false")
    }

    public mutating func member(_ key: StaticString, number: Int) {
        write(key: key)
        put(number: number)
    }

    /// Writes an element of a list, or a whole event, as it is written.
    public mutating func element(_ value: Value) {
        comma()
        append(value)
    }

    /// Writes an element of a list as a text: a number in quotes, a text as it is. Nothing is written for nil.
    public mutating func element(text value: Value?) {
        guard let value else { return }
        comma()
        element(bare: value)
    }

    /// Writes all members of an object into the object that is open.
    public mutating func splice(_ object: Value?) {
        guard let object, object.isObject else { return }
        taken[object.slot] = true
        let first = skipSpace(object.base + 1)
        let count = object.base + object.count - 1 - first
        // An empty object has only its closing bracket here.
        guard count > 0, first[0] == UInt8(ascii: "\"") else { return }
        comma()
        buffer.append(first, count)
        needsComma = true
    }

    // MARK: - Bytes

    /// The number of bytes in the buffer: a place in it, for formats that write a length before its content.
    public var position: Int { buffer.count }

    public mutating func put(byte: UInt8) { buffer.append(byte) }

    public mutating func put(bytes: UnsafeRawBufferPointer) { buffer.append(contentsOf: bytes) }

    public mutating func put(_ text: StaticString) { buffer.append(text.utf8Start, text.utf8CodeUnitCount) }

    /// Writes an integer in decimal digits.
    public mutating func put(number: Int) {
        if number < 0 { buffer.append(UInt8(ascii: "-")) }
        var left = number.magnitude
        var unit: UInt = 1
        while left / unit >= 10 { unit *= 10 }
        while unit > 0 {
            buffer.append(UInt8(truncatingIfNeeded: left / unit) + 0x30)
            left %= unit
            unit /= 10
        }
    }

    /// Inserts bytes at a place in the wire event that is being written.
    public mutating func insert(_ bytes: UnsafeRawBufferPointer, at place: Int) {
        precondition(place >= current.group && place <= buffer.count, "bytes are inserted outside the wire event")
        let moved = buffer.count - place
        buffer.append(contentsOf: bytes)
        guard let start = buffer.bytes.baseAddress, let source = bytes.baseAddress else { return }
        let target = UnsafeMutableRawPointer(mutating: start) + place
        memmove(target + bytes.count, target, moved)
        target.copyMemory(from: source, byteCount: bytes.count)
    }

    // MARK: - Parts of JSON

    /// Writes a key and its colon, for a value that is written with `put`.
    public mutating func write(key: StaticString) {
        comma()
        quoted(key)
        buffer.append(UInt8(ascii: ":"))
    }

    /// Writes a key of characters that need no escapes, and its colon, for a value that is written with `put`.
    public mutating func write(plainKey key: UnsafeBufferPointer<UInt8>) {
        comma()
        buffer.append(UInt8(ascii: "\""))
        buffer.append(contentsOf: UnsafeRawBufferPointer(key))
        buffer.append(UInt8(ascii: "\""))
        buffer.append(UInt8(ascii: ":"))
    }

    mutating func write(key: Value) {
        comma()
        append(key)
        buffer.append(UInt8(ascii: ":"))
    }

    /// Begins a key that is made of several parts, which are put without their quotes, and ends it.
    mutating func beginKey() {
        comma()
        put(byte: UInt8(ascii: "\""))
    }
    mutating func endKey() { put("\":") }

    /// Opens an object whose key has been written.
    mutating func openRest() { openBare(UInt8(ascii: "{")) }

    mutating func append(_ value: Value) {
        taken[value.slot] = true
        buffer.append(value.base, value.count)
    }

    /// Writes a text as it is, and any other value in quotes.
    private mutating func element(bare value: Value) {
        if value.isText { return append(value) }
        buffer.append(UInt8(ascii: "\""))
        append(value)
        buffer.append(UInt8(ascii: "\""))
    }

    private mutating func quoted(_ text: String) {
        buffer.append(UInt8(ascii: "\""))
        for byte in text.utf8 { JSONString.escape(byte, as: .numeric) { buffer.append($0) } }
        buffer.append(UInt8(ascii: "\""))
    }

    private mutating func quoted(_ text: StaticString) {
        buffer.reserve(text.utf8CodeUnitCount + 2)
        buffer.append(UInt8(ascii: "\""))
        buffer.appendReserved(text.utf8Start, text.utf8CodeUnitCount)
        buffer.append(UInt8(ascii: "\""))
    }

    private mutating func comma() {
        if needsComma { buffer.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        comma()
        openBare(bracket)
    }

    private mutating func openBare(_ bracket: UInt8) {
        buffer.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        buffer.append(bracket)
        needsComma = true
    }
}
