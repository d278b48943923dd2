// The settings of a source that a module brings, with every default filled in.

public struct ModuleSourcePlan: Sendable, Equatable {
    /// The module's own settings as one JSON object: checked, with defaults filled in and secrets fetched. It is never printed.
    public var settings: Secret
    /// The module's own settings as `check` shows them, without secrets.
    public var shownSettings: [ProviderPlan.Setting] = []
    /// The most bytes of events that the source holds: those that were handed over and have not come to their end.
    public var inFlight = 64_000_000
    /// The place in the file, for faults that the module finds in the settings. It is nil in a plan that was not read from a file.
    public var place: ConfigurationPlace?

    public init(settings: Secret) { self.settings = settings }

    /// The place does not count: a source that has moved in the file is the same.
    public static func == (a: ModuleSourcePlan, b: ModuleSourcePlan) -> Bool {
        a.settings.bytes == b.settings.bytes && a.shownSettings == b.shownSettings && a.inFlight == b.inFlight
    }
}
