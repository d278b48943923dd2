// Fuzzes consent strings. For any input, no decoder reads beyond the string. A string that is accepted gives the same answers twice. It
// allows no vendor more than the person allowed. A TCF string that is cut inside its core is refused, and so is a GPP string with a
// section too many or too few.

import Seeded
import Signals

/// Makes strings of TCF and GPP from valid ones. It changes characters, sometimes to any byte.
private struct StringMutator {
    var random: Seeded
    let seeds: [[UInt8]]
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~=1YN ".utf8)

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    mutating func next() -> [UInt8] {
        var text = seeds[below(seeds.count)]
        for _ in 0..<below(5) {
            let i = below(max(1, text.count))
            let letter = below(16) == 0 ? UInt8(below(256)) : StringMutator.letters[below(StringMutator.letters.count)]
            switch text.isEmpty ? 0 : below(6) {
            case 0: text.insert(letter, at: min(i, text.count))
            case 1: text.remove(at: i)
            case 2: text.removeSubrange(i...)
            case 3: text += text[i...].prefix(40)
            default: text[i] = letter
            }
        }
        return text
    }

    static func seeds(_ texts: String...) -> [[UInt8]] { texts.map { Array($0.utf8) } }
}

/// Calls `use` with the bytes in memory of exactly their size, so that the address sanitizer detects a read beyond them.
private func exactly<Result>(_ bytes: some Collection<UInt8>, _ use: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    defer { memory.deallocate() }
    _ = memory.initialize(from: bytes)
    return use(UnsafeBufferPointer(memory))
}

struct TCFFuzzer: Fuzzer {
    private var mutator: StringMutator
    private let plants: Bool
    private static let vendors = [1, 2, 3, 4, 5, 8, 17, 755, 65_535]

    init(seed: UInt64, plants: Bool) {
        // The first is from the specification. The others have vendors as fields, vendors as ranges, and restrictions.
        let seeds = StringMutator.seeds(
            "CQSbk4AQSbk4ANwAAAENAwCgAAAAAAAAAAYgACPAAAAA.IDKQA4AAgAKAGQAygAAA.YAAAAAAAAAAA",
            "CPXxRfAPXxRfAAfKABENB-CgAIMAAACAAAYgABiAAgQAA", "CPXxRfAPXxRfAAfKABENB-CgAIMAAACAAAYgF5wAoAAgAKAvMACIAIACAAA",
            "CPXxRfAPXxRfAAfKABENB-CgAIMAAACAAAYgABiAAgQAiEAGAAQABkgAIABA")
        mutator = StringMutator(random: Seeded(state: seed), seeds: seeds)
        self.plants = plants
    }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let text = mutator.next()
        return (judge(text), text)
    }

    /// Returns one answer for each purpose, vendor and basis. It is nil if the string is refused.
    private static func answers(_ text: some Collection<UInt8>) -> [Bool]? {
        exactly(text) { bytes in
            guard let string = TCString(bytes) else { return nil }
            return TCString.purposes.flatMap { purpose in
                ([nil] + vendors.map(Optional.some)).flatMap { vendor in
                    [.consent, .legitimateInterest, [.consent, .legitimateInterest]].map { (bases: TCString.Bases) in
                        string.allows(purpose, vendor: vendor, by: bases)
                    }
                }
            }
        }
    }

    private func judge(_ text: [UInt8]) -> Comparison {
        guard let answers = TCFFuzzer.answers(text) else { return .invalid }
        if plants, text.count % 31 == 14 { return .unexplained("planted") }
        if answers != TCFFuzzer.answers(text) { return .unexplained("the answers differ the second time") }
        let width = 3 * (1 + TCFFuzzer.vendors.count)
        for (i, isAllowed) in answers.enumerated() where isAllowed {
            // Nobody is allowed what the person did not allow. Both bases together are allowed exactly if one of them is.
            if !answers[i / width * width + i % 3] { return .unexplained("a vendor is allowed more than the person allowed") }
            let three = i / 3 * 3
            if !answers[three + 2] || !answers[three] && !answers[three + 1] {
                return .unexplained("both bases together differ from one of the two")
            }
        }
        // The core has at least 43 characters, whose 258 bits every string needs.
        for count in [0, 1, 20, 42] where TCFFuzzer.answers(text.prefix(count)) != nil {
            return .unexplained("it is accepted although it is cut off")
        }
        return .valid
    }
}

struct GPPFuzzer: Fuzzer {
    private var mutator: StringMutator
    private let plants: Bool

    init(seed: UInt64, plants: Bool) {
        // The first strings are from the specification. The others have sections of the United States.
        let seeds = StringMutator.seeds(
            "DBACNY~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA~1YNN", "DBABjw~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA~1YNN",
            "DBABL~BAAqAAAAAA.YA", "DBABT~1YYN", "DBABzw~1YNN~BAAqAAAAAA.QA")
        mutator = StringMutator(random: Seeded(state: seed), seeds: seeds)
        self.plants = plants
    }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let text = mutator.next()
        return (judge(text), text)
    }

    private struct Answer: Equatable {
        let optOuts: OptOuts
        let isGlobalControl: Bool
        let consents: [Bool]

        init?(_ text: some Collection<UInt8>) {
            let answer: (OptOuts, Bool, [Bool])? = exactly(text) { bytes in
                guard let string = GPPString(bytes) else { return nil }
                let consents = string.tcf.map { tcf in TCString.purposes.map { tcf.allows($0, by: .consent) } }
                return (string.optOuts, string.isGlobalControl, consents ?? [])
            }
            guard let answer else { return nil }
            (optOuts, isGlobalControl, consents) = answer
        }
    }

    private func judge(_ text: [UInt8]) -> Comparison {
        guard let answer = Answer(text) else { return .invalid }
        if plants, text.count % 31 == 14 { return .unexplained("planted") }
        if Answer(text) != answer { return .unexplained("the answers differ the second time") }
        // A string with one section more, or one section less, than its header lists is not valid.
        if Answer(text + Array("~1YNN".utf8)) != nil { return .unexplained("it accepts a section that its header does not list") }
        if let last = text.lastIndex(of: UInt8(ascii: "~")), Answer(text[..<last]) != nil {
            return .unexplained("it is accepted although a section is missing")
        }
        return .valid
    }
}
