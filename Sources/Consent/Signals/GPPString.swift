// Reads the string of IAB Tech Lab's Global Privacy Platform, version 1: a header that lists sections, and the sections. It gives the
// opt-outs of all United States sections, the European section as a TC string, and the Canadian section.
// A string with an invalid header or an invalid known section is refused; unknown sections are skipped. Nothing is allocated, and the text
// must live as long as the value.

/// The things that a person can opt out of.
public struct OptOuts: OptionSet, BitwiseCopyable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let sale = OptOuts(rawValue: 1)
    public static let sharing = OptOuts(rawValue: 2)
    public static let targetedAdvertising = OptOuts(rawValue: 4)
    /// The processing of sensitive data of any kind.
    public static let sensitiveData = OptOuts(rawValue: 8)
}

public struct GPPString: BitwiseCopyable {
    /// The opt-outs of all sections together.
    public private(set) var optOuts: OptOuts = []
    /// True if a section says that Global Privacy Control was on.
    public private(set) var isGlobalControl = false
    /// The section of TCF. It is nil if there is none.
    public private(set) var tcf: TCString?
    /// The section of TCF Canada. It is nil if there is none, or if it is broken.
    public private(set) var canada: CanadaString?
    /// True if the section of TCF Canada is broken. Examples of IAB Tech Lab have a European string there, so only those who need the
    /// section refuse the string.
    public private(set) var hasBrokenCanada = false

    /// Returns nil if the string is broken.
    public init?(_ text: UnsafeBufferPointer<UInt8>) {
        var sections = Parts(of: text, at: UInt8(ascii: "~"))
        guard let header = sections.next(), var bits = Bits(header), bits.take(6) == 3, bits.take(6) == 1 else { return nil }
        let count = bits.take(12)
        var id = 0
        for _ in 0..<count {
            let isRange = bits.takeFlag()
            guard let step = bits.takeFibonacci() else { return nil }
            var more = 0
            if isRange {
                guard let length = bits.takeFibonacci() else { return nil }
                more = length
            }
            id += step
            guard let first = sections.next(), take(id, first) else { return nil }
            // The loop ends with the last section, even if the range claims more.
            for _ in 0..<more {
                id += 1
                guard let next = sections.next(), take(id, next) else { return nil }
            }
        }
        guard !bits.isOverrun, bits.endsInZeros, sections.next() == nil else { return nil }
    }

    /// Reads a section. Returns false if it is a known section and broken.
    private mutating func take(_ id: Int, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        switch id {
        case 2:
            tcf = TCString(text)
            return tcf != nil
        case 5:
            canada = CanadaString(text)
            hasBrokenCanada = canada == nil
        case 6:
            guard let optOut = GPPString.hasSaleOptOut(text) else { return false }
            if optOut { optOuts.insert(.sale) }
        default:
            guard let layout = USLayout(section: id) else { return true }
            guard let section = USSection(text, layout) else { return false }
            optOuts.formUnion(section.optOuts)
            if section.isGlobalControl { isGlobalControl = true }
        }
        return true
    }

    /// Reads the older US Privacy string: its version, then notice, opt-out of sale and coverage, each yes, no or not applicable. Returns
    /// nil if it is broken.
    private static func hasSaleOptOut(_ text: UnsafeBufferPointer<UInt8>) -> Bool? {
        guard text.count == 4, text[0] == UInt8(ascii: "1") else { return nil }
        for byte in text[1...] where byte != UInt8(ascii: "Y") && byte != UInt8(ascii: "N") && byte != UInt8(ascii: "-") { return nil }
        return text[2] == UInt8(ascii: "Y")
    }
}

extension Bits {
    /// Reads a number in Fibonacci coding, which ends in two ones. Returns nil if it does not end, or is larger than any number of a section or a vendor.
    mutating func takeFibonacci() -> Int? {
        var value = 0
        var (weight, next) = (1, 2)
        var last = false
        while weight < 1 << 17, !isOverrun {
            let flag = takeFlag()
            if flag, last { return value }
            if flag { value += weight }
            last = flag
            (weight, next) = (next, weight + next)
        }
        return nil
    }
}
