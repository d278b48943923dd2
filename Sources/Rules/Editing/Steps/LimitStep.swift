// `limit`: makes strings shorter. Other values stay as they are, or are dropped.

internal import Document
public import Events
internal import FormReading
internal import Redaction

public struct LimitStep: Step {
    /// The most characters of each member, and what becomes of a value that is no string.
    public var members: [(path: Path, most: Int, other: OtherValues)]

    public init(_ members: [(path: Path, most: Int)], other: OtherValues = .keep) {
        self.members = members.map { ($0.path, $0.most, other) }
    }

    private init(_ members: [(path: Path, most: Int, other: OtherValues)]) { self.members = members }

    static let declaration = StepDeclaration(
        "limit", "Keeps this number of characters at the start of a string.",
        example: .init(
            #"{"properties.title": 5}"#, event: #"{"properties":{"title":"Straße 12"}}"#, result: #"{"properties":{"title":"Straß"}}"#),
        samples: [
            #"{"$path":0}"#, #"{"$path":1,"$path":2}"#, #"{"$path":5}"#, #"{"$path":{"most":3,"other":"drop"}}"#, #"{"$path":{"most":4}}"#,
        ],
        form: Forms.table("paths with lengths", by: Forms.pathKey, of: length).then { table, _, _ in
            LimitStep(table.map { (path: $0.key, most: $0.value.most, other: $0.value.other) })
        })

    private struct Length: Sendable {
        var most = 0
        var other = OtherValues.keep
    }

    private static let count = Forms.integer(0...1_000_000)
    private static let plainLength = count.then { most, _, _ in Length(most: most) }
    private static let lengthWithChoice = Form<Length>.object(
        Length(),
        [
            Member("most", count, required: true, "How many characters are kept.", example: "100", into: \.most),
            Member("other", OtherValues.form, OtherValues.about, into: \.other),
        ])

    private static let length = Form<Length>.either([plainLength, lengthWithChoice]) { node, _ in
        if case .object = node.value { lengthWithChoice } else { plainLength }
    }

    public var paths: [Path] { members.map(\.path) }

    public func summary(_ shown: (String) -> String) -> String {
        members.map { "limit \(shown($0.path.description)) to \($0.most) characters\($0.other.summary)" }.joined(separator: ", ")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        members.map { MemberEffect(.changed, [$0.path], "cut to \($0.most) characters\($0.other.effect)") }
    }

    public func code(_ resources: StepResources) -> StepCode {
        .stages(members.flatMap { member in ChangeStage.rules([member.path]) { LimitChange(member.most, member.other) } })
    }
}

/// Keeps the first `most` characters of a string. A character is a Unicode code point. An escape is never split.
final class LimitChange: Changing {
    private let most: Int
    private let other: OtherValues

    init(_ most: Int, _ other: OtherValues) {
        self.most = most
        self.other = other
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.base[0] == UInt8(ascii: "\"") else { return other.outcome }
        guard value.count - 2 > most else { return .unchanged }
        let end = value.count - 1
        var at = 1
        var count = 0
        while at < end, count < most {
            at += LimitChange.width(value.base + at, left: end - at)
            count += 1
        }
        guard at < end else { return .unchanged }
        out.put(value.base, at)
        out.put(UInt8(ascii: "\""))
        return .put
    }

    /// Returns the number of bytes of the character at `p`, as it is written.
    private static func width(_ p: Bytes, left: Int) -> Int {
        guard p[0] == UInt8(ascii: "\\") else {
            return p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4
        }
        guard p[1] == UInt8(ascii: "u") else { return 2 }
        // Two escaped surrogates that are one character.
        let isHigh =
            p[2] | 0x20 == UInt8(ascii: "d")
            && [UInt8(ascii: "8"), UInt8(ascii: "9"), 0x61, 0x62].contains(p[3] | (p[3] > 0x39 ? 0x20 : 0))
        let hasLow =
            left >= 12 && p[6] == UInt8(ascii: "\\") && p[7] == UInt8(ascii: "u") && p[8] | 0x20 == UInt8(ascii: "d")
            && (p[9] | 0x20) &- 0x63 < 4
        return isHigh && hasLow ? 12 : 6
    }
}
