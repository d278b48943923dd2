// Finds where a route's copies hold a hash, what such a hash looks like, and where its value was in the original event. An explanation
// shows neither the hash nor the value.

internal import Editing
internal import Events
internal import Plans

struct HashedMember {
    var path: Path
    /// The name of the key, if it is written before the digits.
    var name: String?
    var digits = 64

    /// Returns true if the value, as written, looks like such a hash.
    func isHash(_ value: [UInt8]) -> Bool {
        guard value.count > 2, value[0] == UInt8(ascii: "\""), let text = decoded(value[1..<(value.count - 1)]) else { return false }
        let prefix = name.map { $0 + ":" } ?? ""
        guard text.hasPrefix(prefix) else { return false }
        let rest = text.utf8.dropFirst(prefix.utf8.count)
        return rest.count == digits && rest.allSatisfy { $0 &- 0x30 < 10 || $0 &- UInt8(ascii: "a") < 6 }
    }
}

extension RoutePlan {
    /// The members of its copies that are hashed, including those that were moved after hashing.
    var hashed: [HashedMember] {
        var hashed: [HashedMember] = []
        for transform in transforms {
            if let own = transform.hashing { hashed += own.paths.map { HashedMember(path: $0, name: own.name, digits: own.digits) } }
            for move in transform.moves {
                for var member in hashed {
                    guard let path = member.path.moved(from: move.from, to: move.to) else { continue }
                    member.path = path
                    hashed.append(member)
                }
            }
        }
        return hashed
    }

    /// The members of the original event whose values are hashed, including those that are moved before hashing.
    var hashedOrigins: [Path] {
        var origins: [Path] = []
        for transform in transforms.reversed() {
            origins += transform.hashing?.paths ?? []
            for move in transform.moves.reversed() { origins += origins.compactMap { $0.moved(from: move.to, to: move.from) } }
        }
        return origins
    }
}

extension Path {
    /// Returns the path of a member after a move. Returns nil if the move does not affect the member.
    fileprivate func moved(from: Path, to: Path) -> Path? {
        from.holds(self) ? Path(keys: to.keys + keys.dropFirst(from.keys.count)) : nil
    }
}
