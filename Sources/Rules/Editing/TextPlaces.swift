// The places in which `scrub` and `mask` change the text of strings. They never change the event's own `messageId`, because receivers recognize
// a repeated event by it.

internal import Document
internal import Events
internal import FormReading
internal import Redaction

/// The slots of the members that a stage searches. If there are none, it searches the whole event.
struct TextPlaces: ~Copyable {
    static let messageID = Path(keys: ["messageId"])

    let slots: UnsafeMutableBufferPointer<Int>
    let spared: Int

    init(_ places: [Path], in paths: PathTrie) {
        slots = .allocate(capacity: places.count)
        _ = slots.initialize(from: places.map { paths.slot(of: $0)! })
        spared = paths.slot(of: TextPlaces.messageID)!
    }

    deinit { slots.deallocate() }
}

extension Forms {
    static let textPlaces = set("paths", of: textPlace)

    /// Refuses the messageId. Receivers recognize a repeated event by its id; if two ids became equal, one event would be lost.
    private static let textPlace = path.then { path, node, reading -> Path? in
        guard path == TextPlaces.messageID else { return path }
        reading.fault(node, "the event's own messageId cannot be changed here, expected another path, or a drop of messageId")
        return nil
    }

    /// The text that replaces what was found.
    static let replacement = string.then { text, node, reading -> String? in
        if text.value.utf8.count <= Mask.longestText { return text.value }
        reading.fault(node, "must have at most \(Mask.longestText) bytes, has \(text.value.utf8.count)")
        return nil
    }
}
