// The operations of a transform that read the event as the preceding operations have left it.

public import Events
public import Expressions
public import Redaction

public enum StepPlan: Sendable {
    /// Keeps only these members.
    case keep([Path])
    /// Moves each member to another place.
    case move([(from: Path, to: Path)])
    /// Sets each member to its value. With `onlyWhereLacking`, it sets only members that are missing or null.
    case compute([(path: Path, value: ComputedValue)], onlyWhereLacking: Bool)
    /// Applies one change to the value of each of these members.
    case change([Path], ValueChange)
    /// Applies a different change to each member.
    case changes([(path: Path, change: ValueChange)])
    /// Scrubs the values of these members. If the list is empty, it scrubs the whole event. `mask` uses its list in the same way.
    case scrub(Scrub, in: [Path])
    case mask(Mask, in: [Path])
}

/// A value that is set.
public enum ComputedValue: Sendable {
    case json(String)
    case expression(Expression)
}

/// A change of one value. Null stays null. A change that makes values coarser drops the values that it cannot read.
public enum ValueChange: Sendable, Equatable {
    /// Writes the first `digits` hex digits of the HMAC-SHA-256 under a key of the plan. If `name` is given, it precedes the digits.
    case hash(key: Int, name: String?, digits: Int)
    /// Writes the label of the range that contains the number. The bounds rise and are written as in the file.
    case bin([String])
    /// Rounds to the nearest multiple of this number, which is written as in the file.
    case round(String)
    /// Rounds a time down to the beginning of its minute, hour or day.
    case roundTime(TimeUnit)
    /// Keeps this number of leading bits of an address.
    case truncateIP(v4: Int, v6: Int)
    /// Keeps this number of characters at the start of a string.
    case limit(Int)
    case lower
    /// Keeps only these members of an object.
    case pick([String])
    /// Converts members to scalars: times to seconds since 1970, lists to values joined by commas, objects to `k:v`.
    case flatten

    public enum TimeUnit: String, Sendable, CaseIterable { case minute, hour, day }
}

extension StepPlan {
    /// The members that the operation names.
    public var paths: [Path] {
        switch self {
        case .keep(let paths), .change(let paths, _), .scrub(_, let paths), .mask(_, let paths): paths
        case .move(let pairs): pairs.flatMap { [$0.from, $0.to] }
        case .compute(let members, _): members.map(\.path)
        case .changes(let members): members.map(\.path)
        }
    }

    /// The indices, among the keys of the plan, of the keys that the operation hashes under.
    public var hashKeys: [Int] {
        func key(_ change: ValueChange) -> Int? { if case .hash(let key, _, _) = change { key } else { nil } }
        switch self {
        case .change(_, let change): return [key(change)].compactMap { $0 }
        case .changes(let members): return members.compactMap { key($0.change) }
        case .keep, .move, .compute, .scrub, .mask: return []
        }
    }

    /// The members that the expressions of the operation read.
    public var readPaths: [Path] {
        guard case .compute(let members, _) = self else { return [] }
        return members.flatMap { member -> [Path] in if case .expression(let expression) = member.value { expression.paths } else { [] } }
    }
}
