// Describes one operation of a transform, for `check`.

internal import Events
internal import Expressions
internal import Plans

extension StepPlan {
    var summary: String {
        switch self {
        case .keep(let paths): "keep only \(list(paths))"
        case .move(let pairs): "move " + pairs.map { "\($0.from) to \($0.to)" }.joined(separator: ", ")
        case .compute(let members, let onlyWhereLacking):
            (onlyWhereLacking ? "default " : "set ") + members.map { "\($0.path)\($0.value.summary)" }.joined(separator: ", ")
        case .change(let paths, let change): change.summary(list(paths))
        case .scrub(_, let paths): "scrub \(places(paths))"
        case .mask(_, let paths): "mask \(places(paths))"
        case .changes(let members): members.map { $0.change.summary($0.path.description) }.joined(separator: ", ")
        }
    }

    private func places(_ paths: [Path]) -> String { paths.isEmpty ? "every string" : list(paths) }
    private func list(_ paths: [Path]) -> String { paths.map(\.description).joined(separator: ", ") }
}

extension ComputedValue {
    fileprivate var summary: String {
        switch self {
        case .json: ""
        case .expression(let expression): " to \(expression.text)"
        }
    }
}

extension ValueChange {
    fileprivate func summary(_ fields: String) -> String {
        switch self {
        case .hash(_, let name, let digits): "hash \(fields) to \(digits) digits\(name.map { ", prefixed with \($0):" } ?? "")"
        case .bin(let bounds): "bin \(fields) by \(bounds.joined(separator: ", "))"
        case .round(let step): "round \(fields) to multiples of \(step)"
        case .roundTime(let unit): "round \(fields) down to the \(unit.rawValue)"
        case .truncateIP(let v4, let v6): "ip \(fields) to /\(v4) and /\(v6)"
        case .limit(let most): "limit \(fields) to \(most) characters"
        case .lower: "lower \(fields)"
        case .pick(let names): "geo \(fields) to \(names.joined(separator: ", "))"
        case .flatten: "flatten \(fields)"
        }
    }
}
