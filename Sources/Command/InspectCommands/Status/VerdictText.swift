// The texts of a verdict: for a person, in JSON and as a label of a metric.

internal import Admission
public import Judging

extension Verdict {
    /// The text of a verdict for a person, as in `5,000 filtered (match)`.
    public var text: String {
        switch self {
        case .admitted: "admitted"
        case .filtered(.whereErrors): "filtered (where error)"
        case .filtered(let stage): "filtered (\(stage.rawValue))"
        case .denied(let reason): "denied (\(reason.rawValue))"
        case .held: "held"
        case .expired: "held until their time was up"
        case .withdrawn: "withdrawn while held"
        case .outdated: "held, and no longer routed"
        case .sampledOut: "sampled out"
        case .limited: "over the limit"
        case .withheld: "held back by a transform"
        case .violating: "against the tracking plan"
        }
    }

    /// The JSON member of a verdict, such as `filtered_match`.
    public var key: String {
        switch self {
        case .admitted: "admitted"
        case .filtered(let stage): stage == .whereErrors ? stage.rawValue : "filtered_\(stage.rawValue)"
        case .denied(let reason): "denied_\(reason.rawValue)"
        case .held: "held"
        case .expired: "expired"
        case .withdrawn: "withdrawn"
        case .outdated: "outdated"
        case .sampledOut: "sampled_out"
        case .limited: "limited"
        case .withheld: "withheld"
        case .violating: "violating"
        }
    }
}
