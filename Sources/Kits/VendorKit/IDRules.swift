// What a vendor takes as the id of a person or a device. Most vendors have a longest id, and ids that stand for none: a client that has lost
// its id sends the word "null" or "anonymous", and with it many people would become one.

public struct IDRules: Sendable {
    private let vendor: String
    private let shortest: (characters: Int, setting: String)?
    private let longest: Int
    private let placeholders: TextSet

    /// `placeholders` are in lower case, and match any case. `shortest` names the setting that says how short an id may be.
    public init(
        of vendor: String, shortest: (characters: Int, setting: String)? = nil, longest: Int = .max, placeholders: [StaticString] = []
    ) {
        self.vendor = vendor
        self.shortest = shortest
        self.longest = longest
        self.placeholders = TextSet(placeholders, ignoringCase: true)
    }

    /// Returns why the vendor does not take an id, or nil. A number counts as its digits.
    public func fault(of id: Value) -> String? {
        if let shortest, (id.isText ? id.characters : id.count) < shortest.characters {
            return "an id has less than \(shortest.characters) characters (\(shortest.setting))"
        }
        if id.isLonger(than: longest) || id.isNumber && id.count > longest {
            return "an id has more than \(longest) characters, and \(vendor) takes at most that many"
        }
        return isPlaceholder(id) ? "an id is one that \(vendor) does not take, such as null or anonymous" : nil
    }

    /// True for an id that stands for none.
    public func isPlaceholder(_ id: Value) -> Bool { placeholders.contains(id) }
}
