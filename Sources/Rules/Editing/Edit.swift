// Compiles the fates of members to a flat list of edits for the editor. There is one edit for each member that is changed. The edits of
// an object's members are adjacent.

public import Events

public struct Edit: BitwiseCopyable {
    enum Kind: UInt8, BitwiseCopyable {
        case drop
        /// Its value becomes `value`.
        case constant
        /// Its members are edited. If it is not an object but must be one, it becomes `value`.
        case object
        /// Its value becomes its digest, shared by all routes.
        case digest
        /// Its value becomes the digest of the value that the edit at `first` produces.
        case digestOfEdit
    }

    let kind: Kind
    let slot: Int
    /// The index of the first edit of its members. `count` is the number of these edits.
    var first = 0
    var count = 0
    /// True if one of its members may have to be added.
    var adds = false
    /// True if it is listed with the edits of an outer object, because its own object is not changed otherwise.
    var isDeeper = false
    /// The text that is added if the event lacks the member: `,"key":value`. It is empty if nothing is added.
    var member = ByteRun(base: Bytes(bitPattern: 1)!, count: 0)
    /// The value part of `member`.
    var value = ByteRun(base: Bytes(bitPattern: 1)!, count: 0)
    /// The index of the digest in the editor. For the digest of an edit, it is the index of the key.
    var digest = 0
    /// The index of this digest among the digests of edits.
    var editedDigest = 0

    /// The member without the comma.
    var firstMember: ByteRun { ByteRun(base: member.base + 1, count: member.count - 1) }
}

/// The digest of one member under one key.
public struct DigestRule: Hashable, BitwiseCopyable {
    let slot: Int
    let key: Int
}

/// Flattens fates into edits.
public struct EditCompiler {
    public let paths: PathTrie
    public let store: Store
    public let keys: UnsafeBufferPointer<HMACKey>
    public private(set) var edits: [Edit] = []
    public private(set) var digests: [DigestRule] = []
    /// The number of digests of edits.
    public private(set) var editedDigests = 0
    /// The most bytes that any event can gain, indexed by the root edit.
    public private(set) var growth: [Int] = []

    public init(paths: PathTrie, keys: UnsafeBufferPointer<HMACKey>, store: Store) {
        self.paths = paths
        self.keys = keys
        self.store = store
    }

    /// Compiles the fate of a whole event. Returns the index of its root edit, or -1 if nothing is edited.
    public mutating func add(_ fate: MemberFate) -> Int {
        guard case .kept(let members) = fate, !fate.isUntouched else { return -1 }
        let root = edits.count
        edits.append(Edit(kind: .object, slot: PathTrie.root))
        var growth = 0
        fill(root, members: members, at: [], growth: &growth)
        self.growth += [Int](repeating: 0, count: edits.count - self.growth.count)
        self.growth[root] = growth
        return root
    }

    /// Compiles the members of the object at `index` to adjacent edits. If an inner object does not have to exist, the edits of
    /// its members are listed here too. They need no edit of that object, because a member is present only if its object is.
    private mutating func fill(_ index: Int, members: MemberFate.Members, at path: [[UInt8]], growth: inout Int) {
        let touched = EditCompiler.touched(members, at: path)
        let first = edits.count
        for member in touched { edits.append(Edit(kind: .drop, slot: slot(member.path))) }
        for (i, member) in touched.enumerated() {
            compile(first + i, fate: member.fate, at: member.path, growth: &growth)
            edits[first + i].isDeeper = member.path.count > path.count + 1
        }
        edits[index].first = first
        edits[index].count = touched.count
        edits[index].adds = edits[first..<(first + touched.count)].contains { $0.member.count > 0 }
    }

    private static func touched(_ members: MemberFate.Members, at path: [[UInt8]]) -> [(path: [[UInt8]], fate: MemberFate)] {
        members.list.filter { !$0.fate.isUntouched }.flatMap { member in
            let own = path + [member.key]
            // No member is ever added to an object that is not forced.
            if case .kept(let inner) = member.fate, !inner.isForced { return touched(inner, at: own) }
            return [(own, member.fate)]
        }
    }

    private mutating func compile(_ index: Int, fate: MemberFate, at path: [[UInt8]], growth: inout Int) {
        let slot = edits[index].slot
        switch fate {
        case .dropped: edits[index] = Edit(kind: .drop, slot: slot)
        case .constant: edits[index] = Edit(kind: .constant, slot: slot)
        case .kept(let members):
            edits[index] = Edit(kind: .object, slot: slot)
            fill(index, members: members, at: path, growth: &growth)
        case .digest(let inner, let key):
            growth += 66
            if inner.isUntouched {
                edits[index] = Edit(kind: .digest, slot: slot, digest: digest(DigestRule(slot: slot, key: key)))
            } else {
                let edit = edits.count
                edits.append(Edit(kind: .drop, slot: slot))
                compile(edit, fate: inner, at: path, growth: &growth)
                edits[index] = Edit(kind: .digestOfEdit, slot: slot, first: edit, digest: key, editedDigest: editedDigests)
                editedDigests += 1
            }
        }
        if let constant = fate.whenAbsent(keys) {
            let key = [UInt8(ascii: ",")] + Constant.member(path.last!)
            let member = store.text(key + constant.json)
            edits[index].member = member
            edits[index].value = ByteRun(base: member.base + key.count, count: member.count - key.count)
            growth += member.count
        }
    }

    private func slot(_ path: [[UInt8]]) -> Int { paths.slot(of: Path(keys: path.map { String(decoding: $0, as: UTF8.self) }))! }

    private mutating func digest(_ rule: DigestRule) -> Int {
        if let i = digests.firstIndex(of: rule) { return i }
        digests.append(rule)
        return digests.count - 1
    }
}
