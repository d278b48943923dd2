// Edits each event as the HTTP API of Segment promises. The edits are splices of the received event.

internal import Events

/// The slots of the members that the API may change.
struct SegmentMembers {
    static let paths =
        [
            "type", "timestamp", "originalTimestamp", "sentAt", "receivedAt", "writeKey", "context", "integrations",
        ].map { Path(keys: [$0]) } + [Path(keys: ["context", "ip"])]

    let type, timestamp, originalTimestamp, sentAt, receivedAt, writeKey, context, integrations, ip: Int

    init(_ paths: PathTrie) {
        let slots = SegmentMembers.paths.map { paths.slot(of: $0) ?? 0 }
        assert(slots.allSatisfy { $0 > PathTrie.root }, "a member of the API has no slot")
        (type, timestamp, originalTimestamp, sentAt) = (slots[0], slots[1], slots[2], slots[3])
        (receivedAt, writeKey, context, integrations, ip) = (slots[4], slots[5], slots[6], slots[7], slots[8])
    }
}

/// The members that a batch gives to all its events under one key.
private struct Shared {
    struct Member {
        var key: [UInt8]
        /// The place of key and value in `Translator.common`.
        var range: Range<Int>
    }

    var members: [Member] = []
}

struct SegmentEditor {
    /// The type of events without one.
    var type: Segment.Call?
    /// The time at which the client sent the body, by its own clock.
    var sentAt: Int64?
    private let receivedAt: Int64
    private var context = Shared()
    private var integrations = Shared()
    // Texts of this body in `Translator.parts`.
    private var receivedAtText: Range<Int>
    private var ipText: Range<Int>?
    /// True if Global Privacy Control is on for the whole request.
    private let isPrivate: Bool
    private let firstPart: Int

    init(_ context: RequestContext, _ translator: inout Translator) {
        translator.common.removeAll()
        translator.parts.removeAll()
        // It is rounded down to milliseconds, the precision that clients use.
        receivedAt = context.time - context.time % 1_000_000
        Times.write(receivedAt, into: &translator.parts)
        receivedAtText = 0..<translator.parts.count
        if let ip = context.ip {
            translator.parts.append("\"ip\":")
            JSONText.string(ip, into: &translator.parts)
            ipText = receivedAtText.upperBound..<translator.parts.count
        }
        isPrivate = context.isPrivate
        firstPart = translator.parts.count
    }

    /// Stores the members that all events have in common. Returns the fault and its place if the value is not an object, or not valid as a
    /// member of an event.
    mutating func share(
        _ text: Bytes, member: MemberCursor.Member, translator: inout Translator
    ) -> (reason: EventFault.Reason, offset: Int)? {
        let isContext = isKey(text, key: member.key, word: "context")
        var shared = Shared()
        if isKey(text, key: member.value, word: "null") { return nil }
        // The value is checked as a member of an event, since it becomes one: its depth and the members that rules name count from there.
        let begin = translator.common.count
        translator.common.append(isContext ? "{\"context\":" : "{\"integrations\":")
        let start = translator.common.count
        guard translator.reader.read(text, start: member.value.lowerBound, end: member.value.upperBound, into: &translator.common) != nil
        else {
            return (translator.reader.reason, translator.reader.offset)
        }
        translator.common.append(UInt8(ascii: "}"))
        guard translator.reader.prove(&translator.common, from: begin) else { return (translator.reader.reason, member.value.lowerBound) }
        let end = translator.common.count - 1
        assert(start < end, "an object has no text")
        var places: [[UInt8]: Int] = [:]
        var cursor = MemberCursor(start, limit: end)
        while let member = cursor.next(translator.common.base, &translator.brackets) {
            let key = Duplicates.decoded(translator.common.base, start: member.key.lowerBound, end: member.key.upperBound)
            let one = Shared.Member(key: key, range: member.key.lowerBound - 1..<member.value.upperBound)
            // As in an event, the last of two members with the same key counts.
            if let place = places[key] {
                shared.members[place] = one
            } else {
                places[key] = shared.members.count
                shared.members.append(one)
            }
        }
        if isContext { context = shared } else { integrations = shared }
        return nil
    }

    /// Appends the canonical event or its fault to the translation.
    mutating func event(
        _ text: Bytes, start: Int, end: Int, translator: inout Translator, into translation: inout Translation
    ) {
        if take(text, start: start, end: end, translator: &translator, into: &translation) { return }
        translation.refuseEvent(translator.reader.reason, at: translator.reader.offset, text: start..<end)
    }

    /// Appends the canonical event, or a fault of its members. Returns false and appends nothing if the text is not an event.
    mutating func take(
        _ text: Bytes, start: Int, end: Int, translator: inout Translator, into translation: inout Translation
    ) -> Bool {
        translator.scratch.removeAll()
        translator.parts.truncate(to: firstPart)
        translator.edits.removeAll()
        guard let event = translator.reader.read(text, start: start, end: end, into: &translator.scratch) else { return false }
        let begin = translation.lines.count
        // The common members are searched for each event, so this is done only while the output is below its limit.
        guard translation.lines.count + translator.scratch.count + translator.common.count <= translator.limits.output else {
            translation.refuseEvent(.tooMuch(translator.limits.output), at: start)
            return true
        }
        let members = translator.members
        let root = event.slots[PathTrie.root]
        if let type {
            let slot = event.slots[members.type]
            if !slot.isPresent || isNull(event, slot) {
                put("type", event: event, slot: slot, object: root, translator: &translator) { $0.append("\"\(type.rawValue)\"") }
            }
        }
        if event.slots[members.writeKey].isPresent {
            if translation.writeKey == nil { translation.writeKey = SegmentEditor.text(event.block, range(event.slots[members.writeKey])) }
            translator.edits.remove(event.slots[members.writeKey])
        }
        correctClock(event, root: root, translator: &translator)
        put("receivedAt", event: event, slot: event.slots[members.receivedAt], object: root, translator: &translator) { [receivedAt] in
            Times.write(receivedAt, into: &$0)
        }
        guard
            merge(
                "integrations", shared: integrations, address: nil, event: event, slot: event.slots[members.integrations],
                translator: &translator),
            merge(
                "context", shared: context, address: ipText, isPrivate: isPrivate, event: event, slot: event.slots[members.context],
                translator: &translator)
        else {
            translation.refuseEvent(.form("context and integrations must be objects"), at: start)
            return true
        }
        translator.edits.apply(event, translator.parts, into: &translation.lines)
        translation.endLine(from: begin, translator.limits, at: start)
        return true
    }

    /// Appends the event as it was received, plus `receivedAt` if it is wanted and missing, and the client's address. Returns false and
    /// appends nothing if the text is not an event.
    mutating func stamp(
        _ text: Bytes, start: Int, end: Int, receivedAt isWanted: Bool, translator: inout Translator,
        into translation: inout Translation
    ) -> Bool {
        translator.scratch.removeAll()
        translator.parts.truncate(to: firstPart)
        translator.edits.removeAll()
        guard let event = translator.reader.read(text, start: start, end: end, into: &translator.scratch) else { return false }
        let begin = translation.lines.count
        let members = translator.members
        if isWanted, !event.slots[members.receivedAt].isPresent {
            put(
                "receivedAt", event: event, slot: event.slots[members.receivedAt], object: event.slots[PathTrie.root],
                translator: &translator
            ) { [receivedAt] in
                Times.write(receivedAt, into: &$0)
            }
        }
        // Nothing can be added to a context that is not an object. Consent denies such an event as broken.
        _ = merge(
            "context", shared: context, address: ipText, isPrivate: isPrivate, event: event, slot: event.slots[members.context],
            translator: &translator)
        translator.edits.apply(event, translator.parts, into: &translation.lines)
        translation.endLine(from: begin, translator.limits, at: start)
        return true
    }

    private func correctClock(_ event: ScannedEvent, root: Slot, translator: inout Translator) {
        let members = translator.members
        let timestamp = event.slots[members.timestamp]
        let original = event.slots[members.originalTimestamp]
        let hasTimestamp = timestamp.isPresent && !isNull(event, timestamp)
        let hasOriginal = original.isPresent && !isNull(event, original)
        if hasTimestamp && hasOriginal { return }
        guard hasTimestamp || hasOriginal else {
            return put("timestamp", event: event, slot: timestamp, object: root, translator: &translator) { [receivedAt] in
                Times.write(receivedAt, into: &$0)
            }
        }
        let written = hasTimestamp ? timestamp : original
        let own = event.slots[members.sentAt]
        let sent = SegmentEditor.time(event.block, range(own)) ?? sentAt
        if let sent, let time = SegmentEditor.time(event.block, range(written)),
            case (let ahead, let isTooFar) = sent.subtractingReportingOverflow(time), !isTooFar,
            case (let corrected, let isFarther) = receivedAt.subtractingReportingOverflow(ahead), !isFarther
        {
            if own.isPresent { translator.edits.remove(own) }
            put("timestamp", event: event, slot: timestamp, object: root, translator: &translator) { Times.write(corrected, into: &$0) }
        } else if !hasTimestamp {
            put("timestamp", event: event, slot: timestamp, object: root, translator: &translator) {
                $0.append(event.block + Int(written.start), Int(written.end - written.start))
            }
        } else {
            return
        }
        if !hasOriginal {
            put("originalTimestamp", event: event, slot: original, object: root, translator: &translator) {
                $0.append(event.block + Int(written.start), Int(written.end - written.start))
            }
        }
    }

    /// Sets a member of the event. It replaces an existing one.
    private func put(
        _ key: StaticString, event: ScannedEvent, slot: Slot, object: Slot, translator: inout Translator,
        write: (inout ByteBuffer) -> Void
    ) {
        let begin = translator.parts.count
        if !slot.isPresent { SegmentEditor.key(key, into: &translator.parts) }
        write(&translator.parts)
        let text = begin..<translator.parts.count
        if slot.isPresent { translator.edits.replace(slot, by: text) } else { translator.edits.insert(text, into: object) }
    }

    /// Adds the common members that the event lacks, and the client's address. Returns false if the batch has members to add and the
    /// event's own member is not an object.
    private func merge(
        _ key: StaticString, shared: Shared, address: Range<Int>?, isPrivate: Bool = false, event: ScannedEvent, slot: Slot,
        translator: inout Translator
    ) -> Bool {
        let hasAddress = event.slots[translator.members.ip].isPresent
        if shared.members.isEmpty && (address == nil || hasAddress) && !isPrivate { return true }
        var known: Set<[UInt8]> = []
        let isObject = slot.isPresent && event.block[Int(slot.start)] == UInt8(ascii: "{")
        if isObject && (!shared.members.isEmpty || isPrivate) {
            known = takeOver(shared, isPrivate: isPrivate, event: event, slot: slot, translator: &translator)
        } else if !isObject && slot.isPresent && !isNull(event, slot) {
            return shared.members.isEmpty
        }
        let begin = translator.parts.count
        func append(_ bytes: Bytes, range: Range<Int>, parts: inout ByteBuffer) {
            if parts.count > begin { parts.append(UInt8(ascii: ",")) }
            parts.append(bytes + range.lowerBound, range.count)
        }
        for member in shared.members where known.insert(member.key).inserted {
            if isPrivate, isSilentControl(member, translator.common.base) {
                known.remove(member.key)
                continue
            }
            append(translator.common.base, range: member.range, parts: &translator.parts)
        }
        if isPrivate, known.insert(Array("gpc".utf8)).inserted {
            if translator.parts.count > begin { translator.parts.append(UInt8(ascii: ",")) }
            translator.parts.append("\"gpc\":true")
        }
        if let address, !hasAddress, shared.members.isEmpty || !known.contains(Array("ip".utf8)) {
            // The text is copied within the same buffer, so its memory must not move.
            translator.parts.reserve(address.count + 1)
            append(translator.parts.base, range: address, parts: &translator.parts)
        }
        let added = begin..<translator.parts.count
        if isObject {
            if !added.isEmpty { translator.edits.insert(added, into: slot) }
            return true
        }
        let whole = translator.parts.count
        if !slot.isPresent { SegmentEditor.key(key, into: &translator.parts) }
        translator.parts.reserve(added.count + 2)
        translator.parts.append(UInt8(ascii: "{"))
        translator.parts.append(translator.parts.base + added.lowerBound, added.count)
        translator.parts.append(UInt8(ascii: "}"))
        let text = whole..<translator.parts.count
        if slot.isPresent {
            translator.edits.replace(slot, by: text)
        } else {
            translator.edits.insert(text, into: event.slots[PathTrie.root])
        }
        return true
    }

    /// Combines the members of an event's object that carry consent with those of the request. Returns the keys of the object.
    private func takeOver(
        _ shared: Shared, isPrivate: Bool, event: ScannedEvent, slot: Slot, translator: inout Translator
    ) -> Set<[UInt8]> {
        let isContext = slot == event.slots[translator.members.context]
        var known: Set<[UInt8]> = []
        var cursor = MemberCursor(Int(slot.start), limit: Int(slot.end))
        while let member = cursor.next(event.block, &translator.brackets) {
            let key = Duplicates.decoded(event.block, start: member.key.lowerBound, end: member.key.upperBound)
            known.insert(key)
            guard isContext, StrictConsent.concerns(key) else { continue }
            let own = StrictConsent.Value(text: event.block, range: member.value)
            let begin = translator.parts.count
            if isPrivate, key.elementsEqual("gpc".utf8), own.isFalse || own.isNull {
                translator.parts.append("true")
            } else if let other = shared.members.first(where: { $0.key == key }) {
                let range = translator.valueRange(of: other.range)
                let value = StrictConsent.Value(text: translator.common.base, range: range)
                guard StrictConsent.combine(key, request: value, event: own, brackets: &translator.brackets, into: &translator.parts) else {
                    continue
                }
            } else {
                continue
            }
            var place = Slot()
            (place.key, place.start, place.end) = (
                UInt32(member.key.lowerBound - 1), UInt32(member.value.lowerBound), UInt32(member.value.upperBound)
            )
            translator.edits.replace(place, by: begin..<translator.parts.count)
        }
        return known
    }

    /// True if a common member says that Global Privacy Control is off.
    private func isSilentControl(_ member: Shared.Member, _ text: Bytes) -> Bool {
        guard member.key.elementsEqual("gpc".utf8) else { return false }
        let last = text[member.range.upperBound - 1]
        // `false` and `null` end in letters that no other value ends in, except `true`.
        return last == UInt8(ascii: "l") || last == UInt8(ascii: "e") && text[member.range.upperBound - 2] == UInt8(ascii: "s")
    }

    private func isNull(_ event: ScannedEvent, _ slot: Slot) -> Bool { event.block[Int(slot.start)] == UInt8(ascii: "n") }

    private func range(_ slot: Slot) -> Range<Int> { Int(slot.start)..<Int(slot.end) }

    private static func key(_ key: StaticString, into parts: inout ByteBuffer) {
        parts.append(UInt8(ascii: "\""))
        parts.append(key.utf8Start, key.utf8CodeUnitCount)
        parts.append(UInt8(ascii: "\""))
        parts.append(UInt8(ascii: ":"))
    }

    /// Returns the time that a string value represents.
    static func time(_ text: Bytes, _ value: Range<Int>) -> Int64? {
        guard value.count >= 2, text[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        return Times.parse(UnsafeBufferPointer(start: text + value.lowerBound + 1, count: value.count - 2))
    }

    /// Returns the decoded text of a string value, or its bytes unchanged if it cannot be decoded. The members of a batch were never scanned.
    static func text(_ text: Bytes, _ value: Range<Int>) -> String? {
        guard value.count >= 2, text[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        let body = UnsafeBufferPointer(start: text + value.lowerBound + 1, count: value.count - 2)
        guard Text.hasWholeEscapes(body) else { return String(decoding: body, as: UTF8.self) }
        return String(decoding: Duplicates.decoded(text, start: value.lowerBound + 1, end: value.upperBound - 1), as: UTF8.self)
    }
}

extension Translator {
    /// Returns the place of the value of a common member, given that of key and value.
    fileprivate func valueRange(of member: Range<Int>) -> Range<Int> {
        var at = stringEnd(common.base, start: member.lowerBound, limit: member.upperBound) ?? member.upperBound
        at = skipBlanks(common.base, start: at, limit: member.upperBound)
        return skipBlanks(common.base, start: min(at + 1, member.upperBound), limit: member.upperBound)..<member.upperBound
    }
}
