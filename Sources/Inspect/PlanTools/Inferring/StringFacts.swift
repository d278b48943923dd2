// Facts about the strings at one place: the distinct texts while they are few, and the formats that all of them have. A text that could
// identify a person ends the collection, so that it cannot get into a plan.

internal import Events

/// The formats that a string can be known to have.
struct SureFormats: OptionSet {
    let rawValue: UInt8
    static let uuid = SureFormats(rawValue: 1)
    static let dateTime = SureFormats(rawValue: 2)
    static let email = SureFormats(rawValue: 4)

    var word: String? {
        switch self {
        case .uuid: "uuid"
        case .dateTime: "date-time"
        case .email: "email"
        default: nil
        }
    }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The formats that the text has.
    init(of text: ArraySlice<UInt8>) {
        self = []
        if TextLooks.isUUID(text) { insert(.uuid) }
        if TextLooks.isDateTime(text) { insert(.dateTime) }
        if TextLooks.isEmail(text) { insert(.email) }
    }
}

struct StringFacts {
    struct Occurrence {
        var count = 0
        /// Hashes of the subjects of its events, as far as the limit for an enum needs them.
        var subjects: [Int] = []
    }

    private(set) var count = 0
    private(set) var formats: SureFormats = [.uuid, .dateTime, .email]
    private var texts: [[UInt8]: Occurrence] = [:]
    /// True if the texts can be no enum.
    private var isVarious = false
    private var hasSubjects = false

    mutating func see(_ raw: ByteRun, _ walk: inout InferenceWalk) {
        count += 1
        if isVarious, formats.isEmpty { return }
        let text = raw.count <= InferenceLimits.longestText * 6 ? walk.text(raw) : nil
        formats = text.map { formats.intersection(SureFormats(of: $0[...])) } ?? []
        if isVarious { return }
        guard let text, IdentifierLooks.isPlainWord(text), texts.count < InferenceLimits.distinct || texts[text] != nil else {
            isVarious = true
            texts = [:]
            return
        }
        texts[text, default: Occurrence()].count += 1
        guard let subject = walk.subject else { return }
        hasSubjects = true
        if texts[text]!.subjects.count < InferenceLimits.subjects, !texts[text]!.subjects.contains(subject) {
            texts[text]!.subjects.append(subject)
        }
    }

    /// The texts in their order if they are few, frequent and shared by enough subjects. It is nil otherwise.
    var choices: [String]? {
        guard !isVarious, !texts.isEmpty, count >= InferenceLimits.stringsOfEnum, texts.count * InferenceLimits.share <= count else {
            return nil
        }
        for occurrence in texts.values {
            if occurrence.count < InferenceLimits.occurrences { return nil }
            if hasSubjects, occurrence.subjects.count < InferenceLimits.subjects { return nil }
        }
        return texts.keys.map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    var format: String? { count >= InferenceLimits.stringsOfFormat ? formats.word : nil }
}
