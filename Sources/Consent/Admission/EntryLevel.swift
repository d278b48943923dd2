// How an entry says what level its event was admitted under: in seven bits, by the level's number among those of the run.

public enum EntryLevel {
    /// It demanded nothing.
    public static let none: UInt8 = 0
    /// Of a level whose number there is no room for, or that is not known any more: as much as there is.
    public static let highest: UInt8 = 127

    /// `number`: in the run's `RunNames` of levels; nil: there are more levels than it can tell apart.
    public static func entry(of number: UInt16?) -> UInt8 { number.flatMap { $0 < 126 ? UInt8($0) + 1 : nil } ?? highest }

    /// The number of the level; nil: none, or as much as there is.
    public static func number(of entry: UInt8) -> UInt16? { entry == none || entry >= highest ? nil : UInt16(entry) - 1 }
}
