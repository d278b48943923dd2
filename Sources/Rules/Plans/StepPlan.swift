// The operations of a transform that see the event as the ones before have left it.

public import Events
public import Expressions
public import Redaction

public enum StepPlan: Sendable {
    /// Everything but these members goes.
    case keep([Path])
    /// Each member to another place.
    case move([(from: Path, to: Path)])
    /// Each member gets its value; `onlyWhereLacking`: if it has none, or null.
    case compute([(path: Path, value: ComputedValue)], onlyWhereLacking: Bool)
    /// The value of each of these members becomes another.
    case change([Path], ValueChange)
    /// The same, for each member another.
    case changes([(path: Path, change: ValueChange)])
    /// In the values of these members; none: in the whole event.
    case scrub(Scrub, in: [Path])
    case mask(Mask, in: [Path])
}

/// A value that is set.
public enum ComputedValue: Sendable {
    case json(String)
    case expression(Expression)
}

/// What becomes of one value. Null stays null; what a change that makes values coarser cannot read is dropped.
public enum ValueChange: Sendable, Equatable {
    /// HMAC-SHA-256 under a key of the plan; so many hex digits, behind the key's name where that is asked for.
    case hash(key: Int, name: String?, digits: Int)
    /// The label of the range that a number falls into. The bounds rise, written as the file has them.
    case bin([String])
    /// To the nearest multiple, as the file writes it.
    case round(String)
    /// Down to the beginning of its minute, hour or day.
    case roundTime(TimeUnit)
    /// So many bits of an address stay.
    case truncateIP(v4: Int, v6: Int)
    /// The first so many characters of a string.
    case limit(Int)
    case lower
    /// Just these members of an object.
    case pick([String])
    /// Members become scalars: times to seconds since 1970, lists joined by commas, objects as `k:v`.
    case flatten

    public enum TimeUnit: String, Sendable, CaseIterable { case minute, hour, day }
}

extension StepPlan {
    /// The members that it names.
    public var paths: [Path] {
        switch self {
        case .keep(let paths), .change(let paths, _), .scrub(_, let paths), .mask(_, let paths): paths
        case .move(let pairs): pairs.flatMap { [$0.from, $0.to] }
        case .compute(let members, _): members.map(\.path)
        case .changes(let members): members.map(\.path)
        }
    }

    /// The keys that it hashes under, indices into the plan's.
    public var hashKeys: [Int] {
        func key(_ change: ValueChange) -> Int? { if case .hash(let key, _, _) = change { key } else { nil } }
        switch self {
        case .change(_, let change): return [key(change)].compactMap { $0 }
        case .changes(let members): return members.compactMap { key($0.change) }
        case .keep, .move, .compute, .scrub, .mask: return []
        }
    }

    /// The members that its expressions read.
    public var readPaths: [Path] {
        guard case .compute(let members, _) = self else { return [] }
        return members.flatMap { member -> [Path] in if case .expression(let expression) = member.value { expression.paths } else { [] } }
    }
}
