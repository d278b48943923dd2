// Which branches of the expressions of one route the tests have taken: of each operand of `&&` and `||`, of each condition of `? :` and of each
// condition as a whole, whether it was true and whether it was false.

internal import Editing
internal import Events
internal import Expressions
internal import Judging
internal import Plans

struct BranchCoverage: Sendable {
    private struct Side: Sendable {
        let branch: Branch
        var wasTrue = false
        var wasFalse = false
    }

    private struct Place: Sendable {
        let place: BranchFinding.Place
        /// Such as `where` or `transform[1], properties.total`.
        let words: String
        var sides: [Side]
    }

    private var places: [Place] = []

    init(_ route: RoutePlan) {
        add(.condition, "where", route.condition)
        add(.exclusion, "not.where", route.not.condition)
        add(.keep, "sample.keep.where", route.sample?.keepCondition)
        for (index, step) in route.transforms.enumerated() {
            for one in step.expressions {
                add(.step(index, one.path), "transform[\(index)], \(one.path)", one.expression, isCondition: false)
            }
        }
    }

    private mutating func add(_ place: BranchFinding.Place, _ words: String, _ expression: Expression?, isCondition: Bool = true) {
        let sides = expression?.branches(isCondition: isCondition).map { Side(branch: $0) } ?? []
        if !sides.isEmpty { places.append(Place(place: place, words: words, sides: sides)) }
    }

    mutating func note(_ finding: BranchFinding) {
        guard let index = places.firstIndex(where: { $0.place == finding.place }) else { return }
        for taken in finding.taken {
            guard let side = places[index].sides.firstIndex(where: { $0.branch == taken.branch }) else { continue }
            switch taken.truth {
            case .yes: places[index].sides[side].wasTrue = true
            case .no: places[index].sides[side].wasFalse = true
            case .error: break
            }
        }
    }

    var all: Int { places.reduce(0) { $0 + 2 * $1.sides.count } }
    var taken: Int { places.reduce(0) { $0 + $1.sides.reduce(0) { $0 + ($1.wasTrue ? 1 : 0) + ($1.wasFalse ? 1 : 0) } } }

    /// What no test has tried, in the order of the file.
    var gaps: [String] {
        places.flatMap { place in
            place.sides.flatMap { side in
                [(side.wasTrue, "true"), (side.wasFalse, "false")].filter { !$0.0 }.map {
                    "no test makes \(side.branch.part) \($0.1) in \(place.words)"
                }
            }
        }
    }
}
