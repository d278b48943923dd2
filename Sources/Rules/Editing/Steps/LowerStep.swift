// `lower`: converts strings to lower case. Other values stay as they are, or are dropped.

public import Events
internal import FormReading
internal import Redaction

public struct LowerStep: Step {
    public var paths: [Path]
    /// What becomes of a value that is no string.
    public var other = OtherValues.keep

    public init(_ paths: [Path], other: OtherValues = .keep) {
        self.paths = paths
        self.other = other
    }

    static let declaration = StepDeclaration(
        "lower", "Converts strings to lower case.",
        example: .init(
            #"["traits.email"]"#, event: #"{"traits":{"email":"Ann@Example.ORG"}}"#, result: #"{"traits":{"email":"ann@example.org"}}"#),
        samples: [#"["$path","$path"]"#, #"{"fields":["$path"],"other":"drop"}"#, #"{"fields":["$path"]}"#],
        form: Forms.fields(object) { LowerStep($0) })

    private static let object = Form<LowerStep>.object(
        LowerStep([]),
        [
            Member(
                "fields", Forms.paths, required: true, "The members that are written in lower case.", example: #"["traits.email"]"#,
                into: \.paths),
            Member("other", OtherValues.form, OtherValues.about, into: \.other),
        ])

    public func summary(_ shown: (String) -> String) -> String { "lower \(list(paths, shown))\(other.summary)" }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        [MemberEffect(.changed, paths, "in lower case\(other.effect)")]
    }

    public func code(_ resources: StepResources) -> StepCode { .stages(ChangeStage.rules(paths) { [other] in LowerChange(other) }) }
}

/// Converts strings to lower case by the rules of Unicode. In a string with a lone surrogate, only ASCII letters change.
final class LowerChange: Changing {
    private let other: OtherValues
    private var decoder = Decoder()

    init(_ other: OtherValues) { self.other = other }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.base[0] == UInt8(ascii: "\"") else { return other.outcome }
        let raw = ByteRun(base: value.base + 1, count: value.count - 2)
        var isPlain = true
        var hasCapital = false
        for byte in raw.bytes {
            isPlain = isPlain && byte < 0x80 && byte != UInt8(ascii: "\\")
            hasCapital = hasCapital || byte &- 0x41 < 26
        }
        if isPlain, !hasCapital { return .unchanged }
        if !isPlain, let text = decoder.decode(raw) { return lower(text, raw: raw, into: &out) }
        out.put(UInt8(ascii: "\""))
        var isEscaped = false
        for byte in raw.bytes {
            out.put(byte &- 0x41 < 26 && !isEscaped ? byte | 0x20 : byte)
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        out.put(UInt8(ascii: "\""))
        return .put
    }

    private func lower(_ text: ByteRun, raw: ByteRun, into out: inout Replacements) -> ValueOutcome {
        let before = String(decoding: text.bytes, as: UTF8.self)
        let after = before.lowercased()
        if before.utf8.elementsEqual(after.utf8) { return .unchanged }
        out.put(UInt8(ascii: "\""))
        for byte in after.utf8 { JSONText.escape(byte) { out.put($0) } }
        out.put(UInt8(ascii: "\""))
        return .put
    }
}
