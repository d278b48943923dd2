// What an operation does to the members of an event, in words for people who must know what leaves. Each operation states its effects
// itself, beside the code that carries it out, so a report cannot miss one.

public import Events

public struct MemberEffect: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        /// The members are removed.
        case removed
        /// Only these members are kept.
        case kept
        /// The values change: they are hashed, cut, made coarser, cleaned of private text, or rewritten.
        case changed
        /// The members are written, whatever the event held there.
        case written
        /// The value moves to another place.
        case moved(to: Path)
    }

    public var kind: Kind
    /// The members that it concerns. If the list is empty, it concerns all.
    public var paths: [Path]
    /// What happens, as a sentence without the name of the member: `hashed with the key ids`.
    public var words: String
    /// True if the values that it changes are hashed or made coarser, whatever they are. Then nobody can read them as they came.
    public var hides: Bool

    public init(_ kind: Kind, _ paths: [Path], _ words: String, hides: Bool = false) {
        self.hides = hides
        self.kind = kind
        self.paths = paths
        self.words = words
    }
}
