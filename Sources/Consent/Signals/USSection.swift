// Reads the sections of a GPP string for the United States: the national section and those of the states. Each is a row of two-bit fields:
// notices, then opt-outs, then kinds of sensitive data, then others. The sections differ in the number of fields.

/// The number of fields of each sort in a section's core.
struct USLayout: BitwiseCopyable {
    /// The newest known version of the section.
    var version = 1
    var notices = 3
    var hasSharing = false
    var hasTargeted = true
    var sensitive = 8
    /// The fields after sensitive data: known children, further consents, and three about the agreement between companies.
    var others = 5

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
        default: return nil
        }
    }

    mutating func choose(version chosen: Int) {
        if version == 2, chosen == 2 { (sensitive, others) = (16, 7) }
    }
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
        layout.choose(version: version)

        bits.skip(2 * layout.notices)
        guard takeChoice(&bits, .sale), !layout.hasSharing || takeChoice(&bits, .sharing),
            !layout.hasTargeted || takeChoice(&bits, .targetedAdvertising)
        else { return nil }
        for _ in 0..<layout.sensitive where !takeChoice(&bits, .sensitiveData) { return nil }
        bits.skip(2 * layout.others)
        guard !bits.isOverrun, takeControl(&segments) else { return nil }
    }

    /// Reads a choice: 0 not applicable, 1 opted out or not consented, 2 the opposite. Returns false for 3, which is invalid.
    private mutating func takeChoice(_ bits: inout Bits, _ about: OptOuts) -> Bool {
        let choice = bits.take(2)
        if choice == 1 { optOuts.insert(about) }
        return choice < 3
    }

    /// Reads the optional second segment, which holds Global Privacy Control.
    private mutating func takeControl(_ segments: inout Parts) -> Bool {
        guard let segment = segments.next() else { return true }
        guard var bits = Bits(segment), bits.take(2) == 1 else { return false }
        isGlobalControl = bits.takeFlag()
        return !bits.isOverrun && segments.next() == nil
    }
}
