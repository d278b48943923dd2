// Reads the groups of OneTrust's consent platform: the list of groups with 1 or 0 ("C0001:1,C0002:0"), the list of active groups
// (",C0001,C0003,", the value of OptanonActiveGroups), or the value of the cookie OptanonConsent, which has such a list among its fields and
// may be percent-encoded. Pure: a text in, names with true or false out. Nothing is allocated.

public struct OneTrustGroups: BitwiseCopyable {
    private let list: UnsafeBufferPointer<UInt8>
    /// True if the text names groups. A cookie has none before the person was asked.
    public let namesGroups: Bool
    /// True if the cookie says that Global Privacy Control was on.
    public let isGlobalControl: Bool

    /// Returns nil if the text is broken.
    public init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.contains(UInt8(ascii: "=")) else {
            self.init(list: text, isGlobalControl: false)
            return
        }
        var groups: UnsafeBufferPointer<UInt8>?
        var isControlled = false
        var fields = Parts(of: text, at: UInt8(ascii: "&"))
        while let field = fields.next() {
            if let value = OneTrustGroups.value(of: "groups", in: field) {
                // Of two lists nobody knows which one holds.
                guard groups == nil else { return nil }
                groups = value
            }
            if let value = OneTrustGroups.value(of: "isGpcEnabled", in: field) {
                isControlled = isControlled || !value.elementsEqual([UInt8(ascii: "0")])
            }
        }
        self.init(list: groups, isGlobalControl: isControlled)
    }

    private init?(list: UnsafeBufferPointer<UInt8>?, isGlobalControl: Bool) {
        self.list = list ?? UnsafeBufferPointer(start: nil, count: 0)
        namesGroups = list != nil
        self.isGlobalControl = isGlobalControl
        var isValid = true
        var (rated, bare) = (false, false)
        forEachItem { _, rating in
            switch rating {
            case .on, .off: rated = true
            case .none: bare = true
            case .invalid: isValid = false
            }
        }
        guard isValid, !(rated && bare) else { return nil }
    }

    /// Calls the body with the name of each group, and whether it is active.
    public func visit(_ body: (UnsafeBufferPointer<UInt8>, Bool) -> Void) {
        forEachItem { name, rating in body(name, rating != .off) }
    }

    private enum Rating { case none, on, off, invalid }

    /// Calls the body with each name that is not empty.
    private func forEachItem(_ body: (UnsafeBufferPointer<UInt8>, Rating) -> Void) {
        var rest = list
        while !rest.isEmpty {
            let (item, behind) = OneTrustGroups.split(rest, at: UInt8(ascii: ","), encoded: "2C")
            rest = behind ?? UnsafeBufferPointer(start: nil, count: 0)
            let (name, rating) = OneTrustGroups.split(item, at: UInt8(ascii: ":"), encoded: "3A")
            if name.isEmpty, rating == nil { continue }
            guard !name.isEmpty else {
                body(item, .invalid)
                continue
            }
            switch rating.map({ ($0.count, $0.first) }) {
            case nil: body(name, .none)
            case (1, UInt8(ascii: "1"))?: body(name, .on)
            case (1, UInt8(ascii: "0"))?: body(name, .off)
            default: body(name, .invalid)
            }
        }
    }

    /// Splits a text at the first separator, which may be percent-encoded. The second part is nil if there is none.
    private static func split(
        _ text: UnsafeBufferPointer<UInt8>, at separator: UInt8, encoded digits: StaticString
    ) -> (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>?) {
        for index in text.indices {
            var end = index + 1
            if text[index] == UInt8(ascii: "%") {
                // A hexadecimal letter may have either case.
                guard index + 2 < text.count, text[index + 1] == digits.utf8Start[0], text[index + 2] & ~0x20 == digits.utf8Start[1] else {
                    continue
                }
                end = index + 3
            } else if text[index] != separator {
                continue
            }
            return (UnsafeBufferPointer(rebasing: text[..<index]), UnsafeBufferPointer(rebasing: text[end...]))
        }
        return (text, nil)
    }

    private static func value(of name: StaticString, in field: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
        let count = name.utf8CodeUnitCount
        guard field.count > count, field[count] == UInt8(ascii: "="),
            field.prefix(count).elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: count))
        else { return nil }
        return UnsafeBufferPointer(rebasing: field[(count + 1)...])
    }
}
