// What is wrong with a line: the rule that was broken and the byte that broke it.
// It never quotes more of the input than that one byte, since the rest may be private.

public struct Fault: Error, Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// Nothing but blanks. No event and no error: skip the line silently.
        case blank
        case byteOrderMark, notAnObject
        case expectedKey, expectedColon, expectedValue, expectedMember, expectedElement
        case literal, number, leadingZero, controlInString, escape, utf8
        case depth, duplicate, textAfterEvent
    }

    public var kind: Kind
    /// Where the offending byte stands, from the start of the block. Of bad UTF-8, where the broken sequence begins;
    /// of a duplicate, its key; at the end of a line, its line end.
    public var offset: UInt32
    /// The offending byte.
    public var found: UInt8
    /// Whether the line ends at the offending byte.
    public var isLineEnd: Bool
    /// Which wanted member is there twice, for `duplicate`.
    public var member: Path?
    /// How deep events may nest, for `depth`.
    public var limit: Int

    init(_ kind: Kind, offset: UInt32 = 0, found: UInt8 = 0, isLineEnd: Bool = false, member: Path? = nil, limit: Int = 0) {
        self.kind = kind
        self.offset = offset
        self.found = found
        self.isLineEnd = isLineEnd
        self.member = member
        self.limit = limit
    }

    /// What was wrong, for a person.
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
        case .leadingZero: "a number must not begin with 0, found \(foundText) behind it"
        case .controlInString:
            isLineEnd ? "the line ends inside a string" : "a control character in a string must be escaped, found \(foundText)"
        case .escape: "an escape that JSON does not have, found \(foundText)"
        case .utf8: "bad UTF-8, found \(foundText)"
        case .depth: "the event nests deeper than \(limit) levels"
        case .duplicate: "the member \(member?.description ?? "") is there twice"
        case .textAfterEvent: "expected the end of the line after the event, found \(foundText)"
        }
    }

    /// The offending byte as `0x41 'A'`; as a number alone when it does not print.
    private var foundText: String {
        if isLineEnd { return "the end of the line" }
        let digits = String(found, radix: 16)
        let number = (digits.utf8.count == 1 ? "0x0" : "0x") + digits
        return (0x21...0x7e).contains(found) ? "\(number) '\(Character(UnicodeScalar(found)))'" : number
    }
}
