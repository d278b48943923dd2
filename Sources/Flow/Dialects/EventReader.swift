// Takes one event out of a body: copies it to a line, checks it with the scanner, and repairs it if necessary, possible and allowed. It promises
// that the result is one event to the scanner, on one line.

internal import Events

struct EventReader: ~Copyable, Sendable {
    /// Finds the members that rules and dialects name.
    private var scanner: Scanner
    /// Finds no members, so it checks only the syntax.
    private var prover: Scanner
    private var spare = ByteBuffer()
    private let limits: TranslationLimits
    /// True if an event that needs repair is refused.
    var isStrict = false

    /// The reason for which the last event was refused, and its place in the body.
    private(set) var reason = EventFault.Reason.unclosed
    private(set) var offset = 0

    init(_ paths: PathTrie, _ limits: TranslationLimits) {
        scanner = Scanner(paths, depth: limits.depth)
        prover = Scanner(PathTrie([]), depth: limits.depth)
        self.limits = limits
    }

    /// Appends the event [start, end) of the body to `line`, without a newline. If the text is not an event, it returns nil, sets `reason`
    /// and appends nothing. The result points into `line` and is valid until `line` or the reader changes.
    mutating func read(_ text: Bytes, start: Int, end: Int, into line: inout ByteBuffer) -> ScannedEvent? {
        let count = end - start
        assert(count >= 0, "an event ends before it begins")
        guard count <= limits.line, line.count + count < Block.most else { return refuse(.tooLarge(limits.line), at: start) }
        let begin = line.count
        line.append(text + start, count)
        flatten(line.base + begin, count)
        if let event = scan(&line, begin) { return event }
        if isStrict {
            line.truncate(to: begin)
            var fault = scanner.fault
            let place = start + Int(fault.offset) - begin
            fault.offset = UInt32(truncatingIfNeeded: place)
            return refuse(.json(fault), at: place)
        }
        return readBroken(text, start: start, end: end, into: &line, begin: begin)
    }

    /// Checks a line that this module has written, and removes duplicate keys if necessary. Returns false and removes the line if it is not
    /// an event.
    mutating func prove(_ line: inout ByteBuffer, from begin: Int) -> Bool {
        if scan(&line, begin) != nil { return true }
        if scanner.fault.kind == .duplicate, removeDuplicates(&line, begin) != nil { return true }
        reason = .json(scanner.fault)
        line.truncate(to: begin)
        return false
    }

    private mutating func readBroken(
        _ text: Bytes, start: Int, end: Int, into line: inout ByteBuffer, begin: Int
    ) -> ScannedEvent? {
        line.truncate(to: begin)
        EventRepair.repair(text, start: start, end: end, into: &line)
        seal(&line)
        if prover.scan(line.base, UInt32(begin)) == nil || Int(prover.lineEnd) != line.count {
            var fault = prover.fault
            line.truncate(to: begin)
            // Repaired text is longer than the received text, so the place is found by repairing again up to it.
            spare.removeAll()
            let place = EventRepair.repair(text, start: start, end: end, into: &spare, until: Int(fault.offset) - begin)
            assert(place >= start && place <= end, "a fault lies outside its event")
            fault.offset = UInt32(truncatingIfNeeded: place)
            return refuse(.json(fault), at: place)
        }
        if let event = scan(&line, begin) { return event }
        if let event = removeDuplicates(&line, begin) { return event }
        line.truncate(to: begin)
        return refuse(.json(scanner.fault), at: start)
    }

    private mutating func removeDuplicates(_ line: inout ByteBuffer, _ begin: Int) -> ScannedEvent? {
        spare.removeAll()
        Duplicates.remove(line.base, start: begin, end: line.count, into: &spare)
        line.truncate(to: begin)
        line.append(contentsOf: spare.bytes)
        return scan(&line, begin)
    }

    private mutating func scan(_ line: inout ByteBuffer, _ begin: Int) -> ScannedEvent? {
        seal(&line)
        guard let event = scanner.scan(line.base, UInt32(begin)), Int(scanner.lineEnd) == line.count else { return nil }
        return event
    }

    /// Writes the padding that the scanner needs after a line. It lies beyond the buffer's count.
    private func seal(_ line: inout ByteBuffer) {
        line.reserve(Block.padding + 1)
        (line.base + line.count).update(repeating: UInt8(ascii: "\n"), count: Block.padding + 1)
    }

    private mutating func refuse(_ reason: EventFault.Reason, at offset: Int) -> ScannedEvent? {
        self.reason = reason
        self.offset = offset
        return nil
    }

    /// Replaces the newlines between tokens with spaces. Those in strings stay, and make the scanner refuse the line.
    private func flatten(_ text: UnsafeMutablePointer<UInt8>, _ count: Int) {
        guard UnsafeBufferPointer(start: text, count: count).hasNewline else { return }
        var i = 0
        while i < count {
            if text[i] == UInt8(ascii: "\"") {
                guard let end = stringEnd(text, start: i, limit: count) else { return }
                i = end
                continue
            }
            if text[i] == UInt8(ascii: "\n") { text[i] = UInt8(ascii: " ") }
            i += 1
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate var hasNewline: Bool { baseAddress.map { lineEnd($0, start: 0, limit: count) < count } ?? false }
}
