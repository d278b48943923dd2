// The meaning of consent in the formats of other platforms: `map` of the consent section. It names no format: each signal of the consent
// gate declares with a `ConsentMeaningSchema` what its meaning may say, and reads the meaning that the section gives it.

public import Events

public struct ConsentMapPlan: Sendable, Equatable {
    /// One purpose, with its meaning in the other format.
    public struct Entry<Meaning: Sendable & Equatable>: Sendable, Equatable {
        public var purpose: String
        public var meaning: Meaning
        public init(_ purpose: String, _ meaning: Meaning) {
            self.purpose = purpose
            self.meaning = meaning
        }
    }

    private var signals: [String: [Entry<ConsentMeaning>]] = [:]
    /// Other names of the purpose, which mean the same as its own.
    public var categories: [Entry<[String]>] = []
    /// Members of the user's own, each with the values that grant the purpose.
    public var members: [Entry<[MatchPlan]>] = []

    public init() {}

    /// The entries of the signal with this key, in the order of the file.
    public subscript(key: String) -> [Entry<ConsentMeaning>] {
        get { signals[key] ?? [] }
        set { signals[key] = newValue.isEmpty ? nil : newValue }
    }

    /// All purposes that the map names. A purpose may occur several times.
    public var purposes: [String] { signals.values.joined().map(\.purpose) + categories.map(\.purpose) + members.map(\.purpose) }

    /// The paths of the user's own members, each once.
    public var memberPaths: [Path] {
        var paths: [Path] = []
        for match in members.flatMap(\.meaning) where !paths.contains(match.path) { paths.append(match.path) }
        return paths
    }
}

/// The meaning of a signal for one purpose, in the form that the schema of the signal describes.
public struct ConsentMeaning: Sendable, Equatable {
    public enum Setting: Sendable, Equatable {
        case words([String])
        case numbers([Int])
    }

    /// The words, if the meaning is a list of words.
    public var words: [String] = []
    /// The settings by name, if the meaning is an object. A setting that is left out in the file is not here.
    public var settings: [String: Setting] = [:]

    public init() {}

    /// Returns the words of a setting, or nil if it is left out.
    public func words(_ name: String) -> [String]? { if case .words(let words)? = settings[name] { words } else { nil } }
    /// Returns the numbers of a setting, or nil if it is left out.
    public func numbers(_ name: String) -> [Int]? { if case .numbers(let numbers)? = settings[name] { numbers } else { nil } }
}

/// The form of a signal's entries in `map`, as plain data.
public struct ConsentMeaningSchema: Sendable {
    public enum Values: Sendable {
        /// A list of these words; `called` is what messages call them.
        case words([String], called: String)
        /// A list of numbers in this range.
        case numbers(ClosedRange<Int>, called: String)
        /// One number in this range.
        case number(ClosedRange<Int>)
    }

    public struct Setting: Sendable {
        public var name: String
        public var values: Values
        public var isRequired: Bool
        public var about: String
        public init(_ name: String, _ values: Values, required: Bool = false, _ about: String) {
            self.name = name
            self.values = values
            isRequired = required
            self.about = about
        }
    }

    public enum Shape: Sendable {
        case words([String], called: String)
        case settings([Setting])
    }

    /// The key of the signal in `map`.
    public var key: String
    /// What messages call the entries, such as "purposes with opt-outs".
    public var noun: String
    public var about: String
    /// The form of the meaning for one purpose.
    public var shape: Shape

    public init(_ key: String, called noun: String, _ about: String, _ shape: Shape) {
        self.key = key
        self.noun = noun
        self.about = about
        self.shape = shape
    }
}
