// `ip`: keeps only the network part of an address. A value that is not an address is dropped.

public import Events
internal import FormReading
internal import Glibc
internal import Redaction

public struct IPStep: Step {
    public var paths: [Path] = []
    /// The number of leading bits that are kept.
    public var v4 = 24
    public var v6 = 48

    public init(_ paths: [Path], v4: Int = 24, v6: Int = 48) {
        self.paths = paths
        self.v4 = v4
        self.v6 = v6
    }

    static let declaration = StepDeclaration(
        "ip", "Keeps only the network part of IP addresses.",
        example: .init(
            #"["context.ip"]"#, event: #"{"context":{"ip":"203.0.113.77"}}"#, result: #"{"context":{"ip":"203.0.113.0"}}"#),
        samples: [
            #"["$path","$path"]"#, #"{"fields":["$path"],"v4":0,"v6":0}"#, #"{"fields":["$path"],"v4":32,"v6":128}"#,
            #"{"fields":["$path"],"v4":17}"#,
        ],
        form: Forms.fields(object) { IPStep($0) })

    private static let object = Form<IPStep>.object(
        IPStep([]),
        [
            Member("fields", Forms.paths, required: true, "The members that hold addresses.", example: #"["context.ip"]"#, into: \.paths),
            Member("v4", Forms.integer(0...32), "How many leading bits of an IPv4 address are kept; 24 when left out.", into: \.v4),
            Member("v6", Forms.integer(0...128), "How many leading bits of an IPv6 address are kept; 48 when left out.", into: \.v6),
        ])

    public func summary(_ shown: (String) -> String) -> String { "ip \(list(paths, shown)) to /\(v4) and /\(v6)" }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        [MemberEffect(.changed, paths, "coarser: only the network, /\(v4) of IPv4 and /\(v6) of IPv6", hides: true)]
    }

    public func code(_ resources: StepResources) -> StepCode {
        .stages(ChangeStage.rules(paths) { [v4, v6] in AddressChange(v4: v4, v6: v6) })
    }
}

final class AddressChange: Changing {
    private let v4: Int
    private let v6: Int

    init(v4: Int, v6: Int) {
        self.v4 = v4
        self.v6 = v6
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.base[0] == UInt8(ascii: "\""), (4...47).contains(value.count) else { return .drop }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN) + 2)
        for index in 0..<(value.count - 2) { text[index] = CChar(bitPattern: value.base[1 + index]) }
        var bytes = [UInt8](repeating: 0, count: 16)
        let family: Int32
        if inet_pton(AF_INET, text, &bytes) == 1 {
            family = AF_INET
            AddressChange.clear(&bytes, from: v4, to: 32)
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            family = AF_INET6
            // An IPv4 address that is written as an IPv6 address counts as IPv4.
            let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
            AddressChange.clear(&bytes, from: isMapped ? 96 + v4 : v6, to: 128)
        } else {
            return .drop
        }
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return .drop }
        out.put(UInt8(ascii: "\""))
        for character in text.prefix(while: { $0 != 0 }) { out.put(UInt8(bitPattern: character)) }
        out.put(UInt8(ascii: "\""))
        return .put
    }

    private static func clear(_ bytes: inout [UInt8], from: Int, to: Int) {
        for bit in from..<max(from, to) { bytes[bit / 8] &= ~(0x80 >> UInt8(bit % 8)) }
    }
}
