// The level that an event was admitted under, as its entry stores it: seven bits, computed from the number of the level in this run.

public enum EntryLevel {
    /// The event demanded no level.
    public static let none: UInt8 = 0
    /// The highest level of the plan. It also stands for a level whose number is too large, and for a level that is no longer known.
    public static let highest: UInt8 = 127

    /// Returns the entry level of a level number in the run's `RunNames`. A nil number stands for a level that has no number.
    public static func entry(of number: UInt16?) -> UInt8 { number.flatMap { $0 < 126 ? UInt8($0) + 1 : nil } ?? highest }

    /// Returns the number of the level, or nil for `none` and `highest`.
    public static func number(of entry: UInt8) -> UInt16? { entry == none || entry >= highest ? nil : UInt16(entry) - 1 }
}
