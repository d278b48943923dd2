// Folds consecutive transforms into one fate for each member: the final effect of all of them. A member that is dropped and set again
// keeps its position. A member that the event lacks is added at the end of its object, in the order in which the transforms first set it.

public import Events

/// The final effect of a list of transforms on a member.
public indirect enum MemberFate {
    /// It is kept. If it is an object, its own members have these fates.
    case kept(Members)
    case dropped
    case constant(Constant)
    /// It becomes the HMAC of the value that the inner fate produces, under a key of the plan.
    case digest(MemberFate, key: Int)

    public struct Members {
        public var list: [(key: [UInt8], fate: MemberFate)] = []
        /// True if a member of it was set. It then becomes an object, whatever it was.
        var isForced = false
    }

    static var untouched: MemberFate { .kept(Members()) }

    /// The fate of a whole event under all the operations of a list. Each of them must be folded.
    public init(_ steps: [any Step], _ resources: StepResources) {
        self = .untouched
        for step in steps {
            guard case .folded(let fold) = step.code(resources) else { preconditionFailure("an operation with stages is not folded") }
            fold(&self)
        }
    }

    mutating func drop(_ path: ArraySlice<[UInt8]>) {
        guard let key = path.first else { return }
        switch self {
        case .kept(var members):
            members.change(key) {
                if path.count == 1 { $0 = .dropped } else { $0.drop(path.dropFirst()) }
            }
            self = .kept(members)
        case .constant(var constant):
            constant.drop(path)
            self = .constant(constant)
        case .dropped, .digest: break
        }
    }

    mutating func set(_ path: ArraySlice<[UInt8]>, _ value: Constant) {
        guard let key = path.first else {
            self = .constant(value)
            return
        }
        switch self {
        case .kept(var members):
            members.isForced = true
            members.moveToEndIfNew(key)
            members.change(key) { $0.set(path.dropFirst(), value) }
            self = .kept(members)
        case .constant(var constant):
            constant.set(path, value)
            self = .constant(constant)
        // A digest is a string, null or absent, so it has no members.
        case .dropped, .digest:
            var constant = Constant.object([])
            constant.set(path, value)
            self = .constant(constant)
        }
    }

    mutating func hash(_ path: ArraySlice<[UInt8]>, key: Int, keys: UnsafeBufferPointer<HMACKey>) {
        switch self {
        case .constant(var constant):
            constant.hash(path, keys[key])
            self = .constant(constant)
        case .dropped: break
        case .kept(var members):
            guard let name = path.first else {
                self = .digest(self, key: key)
                return
            }
            members.change(name) { $0.hash(path.dropFirst(), key: key, keys: keys) }
            self = .kept(members)
        case .digest: if path.isEmpty { self = .digest(self, key: key) }
        }
    }

    /// Returns the final value of the member if the event lacks it. Returns nil if the member is still absent.
    func whenAbsent(_ keys: UnsafeBufferPointer<HMACKey>) -> Constant? {
        switch self {
        case .dropped: nil
        case .constant(let constant): constant
        case .digest(let inner, let key): inner.whenAbsent(keys)?.digest(keys[key])
        case .kept(let members):
            members.isForced
                ? .object(members.list.compactMap { member in member.fate.whenAbsent(keys).map { (member.key, $0) } }) : nil
        }
    }

    /// True if the member is present in the end although the event lacks it.
    fileprivate var isMade: Bool {
        switch self {
        case .dropped: false
        case .constant: true
        case .digest(let inner, _): inner.isMade
        case .kept(let members): members.isForced
        }
    }

    /// True if the member is never changed.
    var isUntouched: Bool {
        guard case .kept(let members) = self else { return false }
        return !members.isForced && members.list.allSatisfy(\.fate.isUntouched)
    }
}

extension MemberFate.Members {
    fileprivate mutating func change(_ key: [UInt8], _ body: (inout MemberFate) -> Void) {
        if let i = list.firstIndex(where: { $0.key == key }) {
            body(&list[i].fate)
        } else {
            var fate = MemberFate.untouched
            body(&fate)
            list.append((key, fate))
        }
    }

    /// Moves a member that is set for the first time after the members that were set before it.
    fileprivate mutating func moveToEndIfNew(_ key: [UInt8]) {
        guard let i = list.firstIndex(where: { $0.key == key }), !list[i].fate.isMade else { return }
        list.append(list.remove(at: i))
    }
}

extension Path {
    public var bytes: [[UInt8]] { keys.map { Array($0.utf8) } }
}
