// Texts that are longer than a vendor keeps. The setting `long_texts` says whether the vendor may cut them, which a preview notes, or
// whether the event is refused.

public import PluginKit

public struct LongTexts: Sendable {
    private let vendor: String
    private let most: Int
    private let refuses: Bool

    /// Reads the setting.
    public init(of vendor: String, most: Int, _ setup: Setup) {
        self.vendor = vendor
        self.most = most
        refuses = setup.settings.get("long_texts") == "refuse"
    }

    /// The declaration of the setting.
    public static func setting(of vendor: String, most: Int) -> Schema {
        .choice(
            "what happens to events with texts of more than \(most) characters: \(vendor) cuts these texts, or the event is refused",
            of: ["cut", "refuse"], default: "cut")
    }

    /// The row of the table of what is cut.
    public static func row(of vendor: String, most: Int) -> LimitRow {
        LimitRow(.valueLength, most: most, "texts of more than \(most) characters, which \(vendor) cuts (unless long_texts is refuse)")
    }

    /// Returns why the event is refused for a text, or nil. It notes the loss if the text will be cut.
    public func fault(of text: Value, _ wire: inout WireEvents) -> String? {
        guard refuses || wire.isPreview, text.isLonger(than: most) else { return nil }
        if refuses { return "a text has more than \(most) characters, and \(vendor) would cut it" }
        wire.loses("a text has more than \(most) characters, and \(vendor) cuts it")
        return nil
    }

    /// Does the same for every text in a value, whose depth must be known to be small.
    public func fault(within value: Value, _ wire: inout WireEvents) -> String? {
        guard refuses || wire.isPreview else { return nil }
        var fault: String?
        _ = value.contains { text in
            fault = self.fault(of: text, &wire)
            return fault != nil
        }
        return fault
    }
}
