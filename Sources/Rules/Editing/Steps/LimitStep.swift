// `limit`: makes strings shorter. Other values stay as they are.

public import Events
internal import FormReading
internal import Redaction

public struct LimitStep: Step {
    /// The most characters of each member.
    public var members: [(path: Path, most: Int)]

    public init(_ members: [(path: Path, most: Int)]) { self.members = members }

    static let declaration = StepDeclaration(
        "limit", "Keeps this number of characters at the start of a string.",
        example: .init(
            #"{"properties.title": 5}"#, event: #"{"properties":{"title":"Straße 12"}}"#, result: #"{"properties":{"title":"Straß"}}"#),
        samples: [#"{"$path":0}"#, #"{"$path":1,"$path":2}"#, #"{"$path":5}"#],
        form: Forms.table("paths with lengths", by: Forms.pathKey, of: Forms.integer(0...1_000_000)).then { table, _, _ in
            LimitStep(table.map { (path: $0.key, most: $0.value) })
        })

    public var paths: [Path] { members.map(\.path) }

    public func summary(_ shown: (String) -> String) -> String {
        members.map { "limit \(shown($0.path.description)) to \($0.most) characters" }.joined(separator: ", ")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        members.map { MemberEffect(.changed, [$0.path], "cut to \($0.most) characters") }
    }

    public func code(_ resources: StepResources) -> StepCode {
        .stages(members.flatMap { member in ChangeStage.rules([member.path]) { LimitChange(member.most) } })
    }
}

/// Keeps the first `most` characters of a string. A character is a Unicode code point. An escape is never split.
final class LimitChange: Changing {
    private let most: Int

    init(_ most: Int) { self.most = most }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.base[0] == UInt8(ascii: "\""), value.count - 2 > most else { return .unchanged }
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
