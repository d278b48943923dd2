// The fault of a line: the rule that was broken and the byte that broke it. It never quotes more of the input than that one byte, because
// the rest may be private.

public struct Fault: Error, Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// The line has only blanks. It is neither an event nor an error, and must be skipped silently.
        case blank
        case byteOrderMark, notAnObject
        case expectedKey, expectedColon, expectedValue, expectedMember, expectedElement
        case literal, number, leadingZero, controlInString, escape, utf8
        case depth, duplicate, textAfterEvent
    }

    public var kind: Kind
    /// The place of the offending byte, counted from the start of the block. For bad UTF-8 it is the start of the broken sequence, for a
    /// duplicate its key, and at the end of a line its line end.
    public var offset: UInt32
    /// The offending byte.
    public var found: UInt8
    /// True if the line ends at the offending byte.
    public var isLineEnd: Bool
    /// The wanted member that occurs twice. It is set only for `duplicate`.
    public var member: Path?
    /// The largest number of levels in an event. It is set only for `depth`.
    public var limit: Int

    init(_ kind: Kind, offset: UInt32 = 0, found: UInt8 = 0, isLineEnd: Bool = false, member: Path? = nil, limit: Int = 0) {
        self.kind = kind
        self.offset = offset
        self.found = found
        self.isLineEnd = isLineEnd
        self.member = member
        self.limit = limit
    }

    /// The description of the fault for a person.
    public var message: String {
        switch kind {
        case .blank: "the line is blank"
        case .byteOrderMark: "the line begins with a byte order mark; send UTF-8 without one"
        case .notAnObject: "an event must be a JSON object, found \(foundText)"
        case .expectedKey: "expected a key in double quotes, found \(foundText)"
        case .expectedColon: "expected ':' after a key, found \(foundText)"
        case .expectedValue: "expected a value, found \(foundText)"
        case .expectedMember: "expected ',' or '}' after a member, found \(foundText)"
        case .expectedElement: "expected ',' or ']' after an element, found \(foundText)"
        case .literal: "expected true, false or null, found \(foundText)"
        case .number: "expected a digit in a number, found \(foundText)"
        case .leadingZero: "a number must not begin with 0, found \(foundText) after it"
        case .controlInString:
            isLineEnd ? "the line ends inside a string" : "a control character in a string must be escaped, found \(foundText)"
        case .escape: "an escape that JSON does not have, found \(foundText)"
        case .utf8: "bad UTF-8, found \(foundText)"
        case .depth: "the event nests deeper than \(limit) levels"
        case .duplicate: "the member \(member?.description ?? "") is there twice"
        case .textAfterEvent: "expected the end of the line after the event, found \(foundText)"
        }
    }

    /// The offending byte as `0x41 'A'`, or only as a number if it is not printable.
    private var foundText: String {
        if isLineEnd { return "the end of the line" }
        let digits = String(found, radix: 16)
        let number = (digits.utf8.count == 1 ? "0x0" : "0x") + digits
        return (0x21...0x7e).contains(found) ? "\(number) '\(Character(UnicodeScalar(found)))'" : number
    }
}
