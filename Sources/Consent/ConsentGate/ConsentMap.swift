// The map of the consent section, compiled: what TCF, GPP and Google's signals mean for the plan's purposes.

internal import Events
internal import Plans
internal import Signals

struct ConsentMap: BitwiseCopyable {
    /// `purpose` is the bit of a purpose, here and below.
    struct TCF: BitwiseCopyable {
        let purpose: Int
        let wanted: UnsafeBufferPointer<Int>
        /// The vendor. It is 0 if none is named.
        let vendor: Int
        let bases: TCString.Bases

        func isGranted(by string: TCString) -> Bool {
            for purpose in wanted where !string.allows(purpose, vendor: vendor == 0 ? nil : vendor, by: bases) { return false }
            return true
        }
    }

    struct OptOut: BitwiseCopyable {
        let purpose: Int
        let any: OptOuts
    }

    struct Google: BitwiseCopyable {
        let purpose: Int
        let all: ConsentMode.Signals
    }

    let tcf: UnsafeBufferPointer<TCF>
    let gpp: UnsafeBufferPointer<OptOut>
    let google: UnsafeBufferPointer<Google>

    init(_ plan: ConsentMapPlan, _ names: [[UInt8]], in store: Store) {
        func bit(_ purpose: String) -> Int { names.firstIndex(of: Array(purpose.utf8))! }
        tcf = store.list(
            plan.tcf.map {
                TCF(
                    purpose: bit($0.purpose), wanted: store.list($0.meaning.purposes), vendor: $0.meaning.vendor ?? 0,
                    bases: TCString.Bases($0.meaning.bases.map(\.base)))
            })
        gpp = store.list(plan.gpp.map { OptOut(purpose: bit($0.purpose), any: OptOuts($0.meaning.map(\.optOut))) })
        google = store.list(plan.google.map { Google(purpose: bit($0.purpose), all: ConsentMode.Signals($0.meaning.map(\.signal))) })
    }
}

extension ConsentMapPlan.Basis {
    fileprivate var base: TCString.Bases {
        switch self {
        case .consent: .consent
        case .legitimateInterest: .legitimateInterest
        }
    }
}

extension ConsentMapPlan.OptOut {
    fileprivate var optOut: OptOuts {
        switch self {
        case .sale: .sale
        case .sharing: .sharing
        case .targetedAdvertising: .targetedAdvertising
        case .sensitiveData: .sensitiveData
        }
    }
}

extension ConsentMapPlan.Google {
    fileprivate var signal: ConsentMode.Signals {
        switch self {
        case .adStorage: .adStorage
        case .analyticsStorage: .analyticsStorage
        case .adUserData: .adUserData
        case .adPersonalization: .adPersonalization
        }
    }
}

extension ConsentMapPlan {
    /// All purposes that the map names.
    var purposes: [String] { tcf.map(\.purpose) + gpp.map(\.purpose) + google.map(\.purpose) + categories.map(\.purpose) }
}
