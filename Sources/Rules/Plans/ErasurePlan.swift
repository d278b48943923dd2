// When providers are asked to erase, from `consent.erasures`.

public struct ErasurePlan: Sendable, Equatable {
    /// How long after the withdrawal a provider is asked first, so that its destination has stored what was sent before.
    public var wait = Duration.seconds(60)
    /// The first pause between two asks; later ones double.
    public var first = Duration.seconds(60)
    /// The longest of these pauses.
    public var most = Duration.seconds(6 * 3600)
    /// The time after which a job without a confirmation is given up.
    public var total = Duration.seconds(30 * 24 * 3600)
    public init() {}
}
