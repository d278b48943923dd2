// The forms of the operations of a transform that change the text of strings: `scrub` and `mask`.

internal import Document
internal import Events
internal import Plans
internal import Redaction

enum TextForms {
    private static let places = Forms.set("paths", of: place)

    /// Refuses the messageId. Receivers recognize a repeated event by its id; if two ids became equal, one event would be lost.
    private static let place = Forms.path.then { path, node, reading -> Path? in
        guard path == Path(keys: ["messageId"]) else { return path }
        reading.fault(node, "the event's own messageId cannot be changed here, expected another path, or a drop of messageId")
        return nil
    }

    private static let text = Forms.string.then { text, node, reading -> String? in
        if text.value.utf8.count <= Mask.longestText { return text.value }
        reading.fault(node, "must have at most \(Mask.longestText) bytes, has \(text.value.utf8.count)")
        return nil
    }

    // MARK: - scrub

    private struct ScrubSettings: Sendable {
        var kinds = Sensitive.allCases
        var paths: [Path] = []
        var action = Scrub.Action.replace
        var texts = Scrub.defaultTexts
    }

    private static let kindNames = Sensitive.allCases.map(\.name)

    private static let kind = Form<Sensitive>(SchemaParts.choice(kindNames)) { node, reading in
        if let kind = Sensitive.allCases.first(where: { $0.name == node.text?.value }) { return kind }
        reading.refuseChoice(node, kindNames)
        return nil
    }

    private static let texts = Form<[String]>.object(
        Scrub.defaultTexts,
        Sensitive.allCases.map { kind in
            Member(kind.name, text, "The text that replaces this kind; by default '[\(kind.name)]'.", into: \.[Int(kind.rawValue)])
        }, called: "kind")

    static let scrub = Form<ScrubSettings>.object(
        ScrubSettings(),
        [
            Member("find", Forms.set("kinds", of: kind), "What to look for; by default all kinds.", into: \.kinds),
            Member("in", places, "Where to look; by default in the whole event, keys included.", into: \.paths),
            Member("action", Forms.choice(Scrub.Action.self), "What happens to a find; by default 'replace'.", into: \.action),
            Member("with", texts, "The text that replaces a find, by kind.", into: \.texts),
        ]
    ).then { settings, node, reading -> TransformPlan? in
        if settings.action != .replace, let with = node["with"] {
            reading.fault(with, "is used only with the action replace, but the action is \(settings.action.rawValue)")
        }
        let kinds = settings.kinds.reduce(SensitiveSet()) { $0.union(SensitiveSet($1)) }
        return .step(.scrub(Scrub(kinds: kinds, action: settings.action, texts: settings.texts), in: settings.paths))
    }

    // MARK: - mask

    private struct MaskSettings: Sendable {
        var pattern: String?
        var text: String?
        var paths: [Path] = []
    }

    private static let pattern = Forms.string.then { text, _, _ in text.value }

    static let mask = Form<MaskSettings>.object(
        MaskSettings(),
        [
            Member("pattern", pattern, required: true, "A regular expression (RE2).", into: \.pattern),
            Member("with", text, required: true, "The text that replaces each match.", into: \.text),
            Member("in", places, "Where to look; by default in every string of the event.", into: \.paths),
        ]
    ).then { settings, node, reading -> TransformPlan? in
        guard let pattern = settings.pattern, let text = settings.text else { return nil }
        do throws(MaskFault) {
            return .step(.mask(try Mask(pattern: pattern, with: text), in: settings.paths))
        } catch {
            guard let child = node[error.part == .pattern ? "pattern" : "with"] else { return nil }
            // The message quotes the text, which must stay hidden if it came from outside the file.
            if child.text?.isTainted == true {
                reading.refuse(child, error.part == .pattern ? "a regular expression (RE2)" : "a text for that pattern")
            } else {
                reading.fault(child, error.message)
            }
            return nil
        }
    }
}
