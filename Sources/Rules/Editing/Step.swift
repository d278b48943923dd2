// One operation of a transform. A file of `Steps` holds everything about one operation: its declaration, its form, the valid step, and the
// stage that carries it out. `StepDeclaration.all` lists the operations; nothing else names them all.

public import Events
public import Expressions
public import FormReading

/// A valid operation, as a plan has it.
public protocol Step: Sendable {
    /// The members that the operation names.
    var paths: [Path] { get }
    /// The expressions that compute values, each with the member that it sets.
    var expressions: [(path: Path, expression: Expression)] { get }
    /// The members that the expressions of the operation read.
    var readPaths: [Path] { get }
    /// The members that the operation hashes, and how. It is nil if it hashes none.
    var hashing: StepHashing? { get }
    /// The members that the operation moves, in order.
    var moves: [(from: Path, to: Path)] { get }

    /// Describes the operation for `check`. `shown` masks the texts that came from outside the file.
    func summary(_ shown: (String) -> String) -> String

    /// States what the operation does to the members of an event, for `consent report`. `shown` masks as in `summary`.
    func effects(_ shown: (String) -> String) -> [MemberEffect]

    /// Returns how the operation is carried out.
    func code(_ resources: StepResources) -> StepCode
}

extension Step {
    public var expressions: [(path: Path, expression: Expression)] { [] }
    public var readPaths: [Path] { expressions.flatMap(\.expression.paths) }
    public var hashing: StepHashing? { nil }
    public var moves: [(from: Path, to: Path)] { [] }

    func list(_ paths: [Path], _ shown: (String) -> String) -> String { paths.map { shown($0.description) }.joined(separator: ", ") }
}

/// How an operation hashes members, so that `explain` can recognize and mask the digests.
public struct StepHashing: Sendable {
    public var paths: [Path]
    /// The index of the key among the keys of the plan.
    public var key: Int
    /// The name that precedes the digits, and the number of digits.
    public var name: String?
    public var digits: Int
}

/// The data of a plan from which operations make their code.
public struct StepResources: @unchecked Sendable {
    public let keys: UnsafeBufferPointer<HMACKey>
    /// The names of the sources, by index, for expressions.
    public let sources: [String]
    /// True if a value that looks like a digest is not hashed again.
    public let keepsDigests: Bool

    public init(keys: UnsafeBufferPointer<HMACKey>, sources: [String] = [], keepsDigests: Bool = false) {
        self.keys = keys
        self.sources = sources
        self.keepsDigests = keepsDigests
    }
}

public enum StepCode {
    /// Consecutive operations of this kind are folded into one pass over the event. The function adds the operation to the fate of the
    /// whole event.
    case folded((inout MemberFate) -> Void)
    /// The stages that run one after the other, each on the result of the preceding one.
    case stages([StageRule])

    public var isFolded: Bool { if case .folded = self { true } else { false } }
}

/// What routes.json, its schema, the documents and the tests know about an operation.
public struct StepDeclaration: Sendable {
    /// An operation with an event and the result, as JSON texts. Tests carry it out.
    public struct Example: Sendable {
        /// The value of the operation's key.
        public var settings: String
        public var event: String
        public var result: String

        public init(_ settings: String, event: String, result: String) {
            self.settings = settings
            self.event = event
            self.result = result
        }
    }

    /// The key in routes.json.
    public var name: String
    /// One sentence for editors and the reference.
    public var about: String
    public var example: Example
    /// Settings from which random tests make operations. `$path` stands for any path, `$key` for a key of an object, `$value` for any
    /// JSON value, and `$expression` for any expression, each in quotes.
    public var samples: [String]
    public var form: Form<any Step>

    init<S: Step>(_ name: String, _ about: String, example: Example, samples: [String], form: Form<S>) {
        self.name = name
        self.about = about
        self.example = example
        self.samples = samples
        self.form = form.then { step, _, _ -> (any Step)? in step }
    }
}
