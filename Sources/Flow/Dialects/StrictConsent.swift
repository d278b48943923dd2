// Combines the consent of a request with the consent of one of its events: what a batch states in its own `context`, and Global Privacy
// Control from the head of the request. An event never loosens it. What only one of both states is kept. If both state the same signal
// with different values, the lower of two levels holds, which a list of both expresses; any other pair becomes a list that no signal
// accepts, so that the event is denied as broken.

internal import Events

/// The value that replaces a member of the event's context, or nothing if the event's own value stays.
struct StrictConsent {
    /// The members of `consent` and `consentManagement` that are signals. All others of these objects follow the event.
    private static let signals: [StaticString] = [
        "level", "purposes", "categoryPreferences", "tcf", "gpp", "google", "onetrust", "allowedConsentIds", "deniedConsentIds",
    ]

    /// A value in a text that the scanner has verified.
    struct Value {
        let text: Bytes
        let range: Range<Int>

        var first: UInt8 { text[range.lowerBound] }
        var isObject: Bool { first == UInt8(ascii: "{") }
        var isNull: Bool { first == UInt8(ascii: "n") }
        var isTrue: Bool { first == UInt8(ascii: "t") }
        var isFalse: Bool { first == UInt8(ascii: "f") }
        var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: text + range.lowerBound, count: range.count) }
    }

    /// True if a member of the context with this decoded key carries consent, so that an event must not simply override it.
    static func concerns(_ key: [UInt8]) -> Bool {
        key.elementsEqual("gpc".utf8) || key.elementsEqual("consent".utf8) || key.elementsEqual("consentManagement".utf8)
    }

    /// Appends the combination of a member of the request and that of the event to `out`. Returns false, and appends nothing, if the event's
    /// own value is strict enough.
    static func combine(
        _ key: [UInt8], request: Value, event: Value, brackets: inout Brackets, into out: inout ByteBuffer
    ) -> Bool {
        if request.isNull || request.bytes.elementsEqual(event.bytes) { return false }
        if key.elementsEqual("gpc".utf8) {
            // A value that is neither true nor false breaks the event, and must stay.
            if request.isFalse || event.isTrue || !(event.isFalse || event.isNull) { return false }
            append(request, to: &out)
            return true
        }
        guard event.isObject else { return false }
        guard request.isObject else {
            append(request, to: &out)
            return true
        }
        return merge(request, event, brackets: &brackets, into: &out)
    }

    private static func append(_ value: Value, to out: inout ByteBuffer) {
        out.append(value.text + value.range.lowerBound, value.range.count)
    }

    /// Appends the object of the event with what the object of the request adds.
    private static func merge(_ request: Value, _ event: Value, brackets: inout Brackets, into out: inout ByteBuffer) -> Bool {
        let begin = out.count
        var isChanged = false
        var own: [(key: [UInt8], member: MemberCursor.Member)] = []
        var cursor = MemberCursor(event.range.lowerBound, limit: event.range.upperBound)
        while let member = cursor.next(event.text, &brackets) {
            own.append((decoded(event.text, member.key), member))
        }
        out.append("{")
        var others: [(key: [UInt8], member: MemberCursor.Member)] = []
        cursor = MemberCursor(request.range.lowerBound, limit: request.range.upperBound)
        while let member = cursor.next(request.text, &brackets) { others.append((decoded(request.text, member.key), member)) }
        for (index, entry) in own.enumerated() {
            if index > 0 { out.append(",") }
            out.append(event.text + entry.member.key.lowerBound - 1, entry.member.value.lowerBound - entry.member.key.lowerBound + 1)
            let value = Value(text: event.text, range: entry.member.value)
            // Of two members of the request with the same key, the last one counts.
            let other = others.last { $0.key == entry.key }.map { Value(text: request.text, range: $0.member.value) }
            if let other, signals.contains(where: { entry.key.elementsEqual($0.description.utf8) }), !same(other, value) {
                isChanged = true
                pair(other, value, into: &out)
            } else {
                append(value, to: &out)
            }
        }
        for (index, other) in others.enumerated() {
            guard !own.contains(where: { $0.key == other.key }), !others[(index + 1)...].contains(where: { $0.key == other.key }) else {
                continue
            }
            isChanged = true
            if out.count > begin + 1 { out.append(",") }
            out.append(request.text + other.member.key.lowerBound - 1, other.member.value.upperBound - other.member.key.lowerBound + 1)
        }
        out.append("}")
        if !isChanged { out.truncate(to: begin) }
        return isChanged
    }

    private static func same(_ one: Value, _ other: Value) -> Bool { one.bytes.elementsEqual(other.bytes) }

    /// Appends a list of both values. Of two levels the signal takes the lower one; no other signal accepts such a list.
    private static func pair(_ one: Value, _ other: Value, into out: inout ByteBuffer) {
        out.append("[")
        append(one, to: &out)
        out.append(",")
        append(other, to: &out)
        out.append("]")
    }

    private static func decoded(_ text: Bytes, _ key: Range<Int>) -> [UInt8] {
        Duplicates.decoded(text, start: key.lowerBound, end: key.upperBound)
    }
}
