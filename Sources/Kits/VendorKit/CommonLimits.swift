// The limits that several vendors have, each in one wording. `switchyard check --swap` takes two rows without a number for the same limit
// only if their words are the same. A test tries each row of each vendor with an event that is just over it and one that is just under it.

public import PluginKit

extension LimitRow {
    // MARK: - Kinds

    public static let identify = LimitRow(.kind, "identify")
    public static let alias = LimitRow(.kind, "alias")
    public static let group = LimitRow(.kind, "group")
    public static let page = LimitRow(.kind, "page")
    public static let screen = LimitRow(.kind, "screen")
    public static let trackWithoutName = LimitRow(.kind, "track without a name")
    public static let groupWithoutID = LimitRow(.kind, "group without groupId")
    public static let aliasWithoutPreviousID = LimitRow(.kind, "alias without previousId")

    // MARK: - Ids

    public static let noPerson = LimitRow(.id, "events without userId and anonymousId")
    public static let noMessageID = LimitRow(.id, "events without a messageId")
    public static let placeholderIDs = LimitRow(.id, "ids that stand for none, such as null and anonymous")

    public static func longIDs(_ most: Int) -> LimitRow { LimitRow(.id, most: most, "ids of more than \(most) characters") }

    // MARK: - Names, sizes and depths

    public static func longNames(_ most: Int) -> LimitRow {
        LimitRow(.nameLength, most: most, "names of events of more than \(most) characters")
    }

    public static func size(_ bytes: Int) -> LimitRow { LimitRow(.size, most: bytes, "events of more than \(bytes) bytes") }

    public static func body(_ bytes: Int) -> LimitRow {
        LimitRow(.size, most: bytes, "events that need a body of more than \(bytes) bytes")
    }

    public static func depth(_ most: Int) -> LimitRow {
        LimitRow(.depth, most: most, "more than \(most) objects and lists in one another")
    }

    /// The member that `Setup.reserve` keeps for the vendor.
    public static let unmapped = LimitRow(.other, "properties with the member switchyard_unmapped")
}
