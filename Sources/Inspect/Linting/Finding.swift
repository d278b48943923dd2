// What the linter found in a configuration: a rule with a number, the place, the reason, and a way out.

public enum LintSeverity: String, Sendable {
    /// It is surely not meant so. `check` reports it too.
    case error
    /// It is most likely not meant so.
    case warning
    /// It may be meant so. It does not change the exit code.
    case note
}

/// A rule of the linter. Its number is a promise: it never gets another meaning.
public struct LintRule: Sendable, Hashable {
    public let number: String
    /// A short name, of words with hyphens.
    public let name: String
    public let severity: LintSeverity
    /// What is wrong, as one sentence.
    public let about: String

    init(_ number: String, _ name: String, _ severity: LintSeverity, _ about: String) {
        self.number = number
        self.name = name
        self.severity = severity
        self.about = about
    }
}

public struct LintFinding: Sendable {
    public var rule: LintRule
    /// The offset in the file, and the path of the value there.
    public var offset: Int
    public var path: String
    /// Why it is found here. It holds no secret.
    public var reason: String
    /// What to do.
    public var fix: String
}

extension LintRule {
    static let neverMatches = LintRule("SY0101", "route-never-matches", .error, "A route can never take an event.")
    static let shadowed = LintRule(
        "SY0102", "route-shadowed", .error, "An earlier route takes every event that a route with \"else\" could take.")
    static let overlap = LintRule("SY0103", "routes-overlap", .warning, "Two routes give the same event to the same provider.")
    static let emptySample = LintRule("SY0104", "sample-takes-nothing", .warning, "The sample of a route takes no event.")
    static let deadPattern = LintRule(
        "SY0105", "pattern-without-effect", .warning, "A pattern can match nothing that is not decided already.")
    static let filterTakesNothing = LintRule(
        "SY0106", "provider-takes-nothing", .error, "The filter of a provider takes none of the events that its routes send.")
    static let expressionErrs = LintRule(
        "SY0107", "expression-errs", .warning, "An expression has no value for an event that satisfies the tracking plan.")
    static let falseByPlan = LintRule(
        "SY0108", "where-false-by-plan", .note, "The condition of a route is false for every event that satisfies the tracking plan.")
    static let unusedProvider = LintRule("SY0201", "provider-unused", .warning, "No route sends to a provider.")
    static let notDurable = LintRule(
        "SY0202", "queue-not-durable", .note, "A source takes responsibility for its events, and the queue of a provider is only in memory."
    )
    static let removedUnsafely = LintRule(
        "SY0203", "files-removed-before-delivery", .warning,
        "A source removes its files, and the queue of a provider is only in memory.")
    static let overLimit = LintRule("SY0204", "over-limit-of-module", .warning, "A module refuses an event that a route names.")
    static let unaskedPurpose = LintRule("SY0301", "purpose-never-asked", .warning, "No route demands a purpose.")
    static let unusedLevel = LintRule("SY0302", "level-never-reached", .warning, "No route demands a level.")
    static let unevenDemand = LintRule(
        "SY0303", "consent-differs", .warning, "A route sends without consent to a provider for which other routes demand consent.")
    static let nothingDemanded = LintRule(
        "SY0304", "no-consent-demanded", .warning, "There is a consent section, and no route demands consent.")
    static let hashedAndRaw = LintRule(
        "SY0401", "hashed-and-raw", .warning, "A provider gets a member hashed by one route, and as it came by another.")
    static let hashedDifferently = LintRule(
        "SY0402", "hashed-differently", .warning, "A provider gets a member hashed in two ways, so that the hashes do not agree.")
    static let plainSecret = LintRule("SY0403", "secret-in-plain-text", .warning, "The file holds a secret.")
    static let protectedAndRaw = LintRule(
        "SY0404", "removed-and-raw", .note, "A provider gets a member by one route that another route to it removes or makes coarser.")
    static let unusedKey = LintRule("SY0501", "key-unused", .warning, "Nothing uses a key of \"keys\".")
    static let deadSetting = LintRule("SY0502", "setting-without-effect", .warning, "A setting has no effect.")
    static let deadStep = LintRule("SY0503", "step-without-effect", .warning, "A step names a member that an earlier step removes.")
    static let unusedAllowance = LintRule("SY0901", "allowance-unused", .warning, "A number in \"allow\" silences nothing.")

    /// All rules, by number.
    public static let all = [
        neverMatches, shadowed, overlap, emptySample, deadPattern, filterTakesNothing, expressionErrs, falseByPlan, unusedProvider,
        notDurable, removedUnsafely,
        overLimit,
        unaskedPurpose, unusedLevel, unevenDemand, nothingDemanded, hashedAndRaw, hashedDifferently, plainSecret, protectedAndRaw,
        unusedKey,
        deadSetting, deadStep, unusedAllowance,
    ]
}
