// Where a route's copies hold a hash, what such a hash looks like, and where its value stood in the event as it came: an explanation
// shows neither.

internal import Events
internal import Plans

struct HashedMember {
    var path: Path
    /// Of the key, where it stands before the digits.
    var name: String?
    var digits = 64

    /// Whether the value, as written, looks like one.
    func isHash(_ value: [UInt8]) -> Bool {
        guard value.count > 2, value[0] == UInt8(ascii: "\""), let text = decoded(value[1..<(value.count - 1)]) else { return false }
        let prefix = name.map { $0 + ":" } ?? ""
        guard text.hasPrefix(prefix) else { return false }
        let rest = text.utf8.dropFirst(prefix.utf8.count)
        return rest.count == digits && rest.allSatisfy { $0 &- 0x30 < 10 || $0 &- UInt8(ascii: "a") < 6 }
    }
}

extension RoutePlan {
    /// The members of its copies that are hashed, also those that were moved after that.
    var hashed: [HashedMember] {
        var hashed: [HashedMember] = []
        for transform in transforms {
            switch transform {
            case .hash(let paths, _): hashed += paths.map { HashedMember(path: $0) }
            case .step(.change(let paths, .hash(_, let name, let digits))):
                hashed += paths.map { HashedMember(path: $0, name: name, digits: digits) }
            case .step(.move(let pairs)):
                for pair in pairs {
                    for var member in hashed {
                        guard let path = member.path.moved(from: pair.from, to: pair.to) else { continue }
                        member.path = path
                        hashed.append(member)
                    }
                }
            case .drop, .set, .step: break
            }
        }
        return hashed
    }

    /// Where in the event as it came stands what is hashed, also where it was moved before that.
    var hashedOrigins: [Path] {
        var origins: [Path] = []
        for transform in transforms.reversed() {
            switch transform {
            case .hash(let paths, _), .step(.change(let paths, .hash)): origins += paths
            case .step(.move(let pairs)):
                for pair in pairs.reversed() { origins += origins.compactMap { $0.moved(from: pair.to, to: pair.from) } }
            case .drop, .set, .step: break
            }
        }
        return origins
    }
}

extension Path {
    /// Where a member of this path comes to lie; nil: it is not what is moved, nor in it.
    fileprivate func moved(from: Path, to: Path) -> Path? {
        from.holds(self) ? Path(keys: to.keys + keys.dropFirst(from.keys.count)) : nil
    }
}
