// The sections of a GPP string for the United States: the national one and the states'. All are rows of fields of two bits,
// notices first, then what the person opted out of, then sensitive data by its kinds; they differ in how many there are.

/// How many fields of each sort a section's core has.
struct USLayout: BitwiseCopyable {
    /// The newest version that is known.
    var version = 1
    var notices = 3
    var hasSharing = false
    var hasTargeted = true
    var sensitive = 8
    /// What stands between sensitive data and the end: known children, further consents, and the three about the agreement.
    var others = 5

    /// nil: no section of the United States, or one not known.
    init?(section id: Int) {
        switch id {
        // The nation: version 1 had fewer kinds of sensitive data.
        case 7: (version, notices, hasSharing, sensitive, others) = (2, 6, true, 12, 6)
        // California, whose sharing is what others call targeted advertising.
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

    /// nil: broken. Later fields may follow: they do not change what stands before them.
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

    /// 0: not applicable; 1: opted out, or not consented; 2: the contrary; 3 means nothing.
    private mutating func takeChoice(_ bits: inout Bits, _ about: OptOuts) -> Bool {
        let choice = bits.take(2)
        if choice == 1 { optOuts.insert(about) }
        return choice < 3
    }

    /// The one segment that may follow is about Global Privacy Control.
    private mutating func takeControl(_ segments: inout Parts) -> Bool {
        guard let segment = segments.next() else { return true }
        guard var bits = Bits(segment), bits.take(2) == 1 else { return false }
        isGlobalControl = bits.takeFlag()
        return !bits.isOverrun && segments.next() == nil
    }
}
