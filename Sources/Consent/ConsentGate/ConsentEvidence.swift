// What an event of type `consent` carries as evidence of a decision: where it came from, and the text that the person saw. It states nothing.

public struct ConsentEvidence: Sendable, Hashable {
    public var ipAddress: String?
    public var userAgent: String?
    /// The text that the person agreed to.
    public var text: String?

    /// The largest number of bytes of a member that is kept. A longer one is cut.
    public static let most = 16_384

    public init(ipAddress: String? = nil, userAgent: String? = nil, text: String? = nil) {
        self.ipAddress = ipAddress
        self.userAgent = userAgent
        self.text = text
    }

    public var isEmpty: Bool { ipAddress == nil && userAgent == nil && text == nil }
}
