// The string of IAB Tech Lab's Global Privacy Platform, version 1: a header that lists sections, and the sections. It answers
// what a person opted out of in any section of the United States, and hands on the European one.
// It promises: no string is taken whose header or whose known sections are broken; sections that it does not know are passed
// over. Nothing is allocated, and the text must live as long as the value.

/// What a person can opt out of.
public struct OptOuts: OptionSet, BitwiseCopyable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let sale = OptOuts(rawValue: 1)
    public static let sharing = OptOuts(rawValue: 2)
    public static let targetedAdvertising = OptOuts(rawValue: 4)
    /// Of the processing of sensitive data of any kind.
    public static let sensitiveData = OptOuts(rawValue: 8)
}

public struct GPPString: BitwiseCopyable {
    /// In any of the sections.
    public private(set) var optOuts: OptOuts = []
    /// Global Privacy Control was on, as one of the sections says.
    public private(set) var isGlobalControl = false
    /// The section of TCF, when there is one.
    public private(set) var tcf: TCString?

    /// nil: broken.
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
            // As many turns as there are sections: a range that promises more ends here.
            for _ in 0..<more {
                id += 1
                guard let next = sections.next(), take(id, next) else { return nil }
            }
        }
        guard !bits.isOverrun, bits.endsInZeros, sections.next() == nil else { return nil }
    }

    /// False: the section is known and broken.
    private mutating func take(_ id: Int, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        switch id {
        case 2:
            tcf = TCString(text)
            return tcf != nil
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

    /// The older US Privacy string: its version, then notice, opt-out of sale and coverage, each yes, no or not applicable.
    private static func hasSaleOptOut(_ text: UnsafeBufferPointer<UInt8>) -> Bool? {
        guard text.count == 4, text[0] == UInt8(ascii: "1") else { return nil }
        for byte in text[1...] where byte != UInt8(ascii: "Y") && byte != UInt8(ascii: "N") && byte != UInt8(ascii: "-") { return nil }
        return text[2] == UInt8(ascii: "Y")
    }
}

extension Bits {
    /// A number in Fibonacci coding, which ends in two ones; nil when it does not end, or is beyond any section's.
    mutating func takeFibonacci() -> Int? {
        var value = 0
        var (weight, next) = (1, 2)
        var last = false
        while weight < 1 << 16, !isOverrun {
            let flag = takeFlag()
            if flag, last { return value }
            if flag { value += weight }
            last = flag
            (weight, next) = (next, weight + next)
        }
        return nil
    }
}
