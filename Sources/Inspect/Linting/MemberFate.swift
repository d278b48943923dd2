// What the steps of a route make of one member, followed through removals, changes and moves. It claims that a member leaves as it came only
// if no step names it, a member above it, or all members.

internal import Editing
internal import Events

struct MemberFate {
    struct Hash: Hashable {
        var key: Int
        var name: String?
        var digits: Int
    }

    var hash: Hash?
    var isGone = false
    /// True if a step changed or replaced the value without hashing it.
    var isChanged = false
    var isRaw: Bool { hash == nil && !isGone && !isChanged }

    init(_ member: Path, _ steps: [any Step]) {
        var path = member
        for step in steps where !isGone {
            if let hashing = step.hashing, hashing.paths.contains(where: { $0.holds(path) }) {
                hash = Hash(key: hashing.key, name: hashing.name, digits: hashing.digits)
                continue
            }
            for effect in step.effects({ $0 }) {
                let isNamed = effect.paths.contains { $0.holds(path) }
                switch effect.kind {
                case .removed: isGone = isGone || isNamed
                case .kept: isGone = isGone || !effect.paths.contains { $0.holds(path) || path.holds($0) }
                case .changed: isChanged = isChanged || isNamed || effect.paths.isEmpty
                case .written: isChanged = isChanged || isNamed
                case .moved(let place):
                    guard let from = effect.paths.first(where: { $0.holds(path) }) else { continue }
                    path = Path(keys: place.keys + path.keys.dropFirst(from.keys.count))
                }
            }
        }
    }
}

extension Path {
    /// True if the other member is this one or lies below it.
    func holds(_ other: Path) -> Bool {
        other.keys.count >= keys.count && zip(keys, other.keys).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
    }
}
