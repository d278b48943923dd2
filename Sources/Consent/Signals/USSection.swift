// Reads the sections of a GPP string for the United States: the national section and those of the states. Each is a row of two-bit fields:
// notices, then opt-outs, then kinds of sensitive data, then others. The sections differ in the number of fields. Those of Maryland,
// Indiana, Kentucky and Rhode Island begin with the fields about the agreement between companies, and have the kinds of sensitive data in
// a segment of their own, or none. The layouts are those that IAB's encoders write.

/// The number of fields of each sort in a section's core.
struct USLayout: BitwiseCopyable {
    /// The newest known version of the section.
    var version = 1
    /// The fields before the opt-outs: notices, and in the newest sections the agreement between companies.
    var notices = 3
    var hasSharing = false
    var hasTargeted = true
    var sensitive = 8
    /// The fields after sensitive data: known children, further consents, and three about the agreement between companies.
    var others = 5
    /// The kinds of sensitive data in a segment of their own, behind the core.
    var sensitiveSegment = 0

    /// Returns nil if the id is not a known section of the United States.
    init?(section id: Int) {
        switch id {
        // The national section. Version 1 has fewer kinds of sensitive data.
        case 7: (version, notices, hasSharing, sensitive, others) = (2, 6, true, 12, 6)
        // California calls targeted advertising "sharing".
        case 8: (hasSharing, hasTargeted, sensitive, others) = (true, false, 9, 6)
        // Virginia.
        case 9: others = 4
        // Colorado.
        case 10: (sensitive, others) = (7, 4)
        // Utah and Iowa, with a notice about sensitive data.
        case 11, 18: (notices, others) = (4, 4)
        // Connecticut.
        case 12: others = 6
        // Florida, Montana and New Hampshire.
        case 13, 14, 20: others = 7
        // Oregon.
        case 15: (sensitive, others) = (11, 7)
        // Texas, Nebraska, Tennessee and Minnesota.
        case 16, 19, 22, 23: break
        // Delaware.
        case 17: (sensitive, others) = (9, 9)
        // New Jersey.
        case 21: (sensitive, others) = (10, 9)
        // Maryland.
        case 24: (notices, sensitive, others) = (5, 0, 1)
        // Indiana, Kentucky and Rhode Island.
        case 25, 26, 27: (notices, sensitive, others, sensitiveSegment) = (5, 0, 2, 8)
        default: return nil
        }
    }

    /// Chooses between the layouts of the national section. IAB's encoders wrote version 1 with 12 kinds of sensitive data (60 bits), then,
    /// without a new version, with 16 of them (70 bits), and now again with 12. A core that has space for 16 is read with 16.
    mutating func choose(version chosen: Int, bits: Int) {
        guard version == 2, chosen == 2 || bits >= USLayout.longCore else { return }
        (sensitive, others) = (16, 7)
    }

    private static let longCore = 70
}

struct USSection {
    private(set) var optOuts: OptOuts = []
    private(set) var isGlobalControl = false

    /// Returns nil if the section is broken. Additional fields may follow; they do not change the fields before them.
    init?(_ text: UnsafeBufferPointer<UInt8>, _ known: USLayout) {
        var segments = Parts(of: text, at: UInt8(ascii: "."))
        guard let core = segments.next(), var bits = Bits(core) else { return nil }
        var layout = known
        let version = bits.take(6)
        guard (1...layout.version).contains(version) else { return nil }
        layout.choose(version: version, bits: bits.count)

        bits.skip(2 * layout.notices)
        guard takeChoice(&bits, .sale), !layout.hasSharing || takeChoice(&bits, .sharing),
            !layout.hasTargeted || takeChoice(&bits, .targetedAdvertising)
        else { return nil }
        for _ in 0..<layout.sensitive where !takeChoice(&bits, .sensitiveData) { return nil }
        bits.skip(2 * layout.others)
        guard !bits.isOverrun, layout.sensitiveSegment == 0 ? takeControl(&segments) : takeSensitive(&segments, layout) else { return nil }
    }

    /// Reads a choice: 0 not applicable, 1 opted out or not consented, 2 the opposite. Returns false for 3, which is invalid.
    private mutating func takeChoice(_ bits: inout Bits, _ about: OptOuts) -> Bool {
        let choice = bits.take(2)
        if choice == 1 { optOuts.insert(about) }
        return choice < 3
    }

    /// Reads the optional second segment of a section that has the kinds of sensitive data there.
    private mutating func takeSensitive(_ segments: inout Parts, _ layout: USLayout) -> Bool {
        guard let segment = segments.next() else { return true }
        guard var bits = Bits(segment) else { return false }
        for _ in 0..<layout.sensitiveSegment where !takeChoice(&bits, .sensitiveData) { return false }
        return !bits.isOverrun && segments.next() == nil
    }

    /// Reads the optional second segment, which holds Global Privacy Control.
    private mutating func takeControl(_ segments: inout Parts) -> Bool {
        guard let segment = segments.next() else { return true }
        guard var bits = Bits(segment), bits.take(2) == 1 else { return false }
        isGlobalControl = bits.takeFlag()
        return !bits.isOverrun && segments.next() == nil
    }
}
