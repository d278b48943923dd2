// A dead letter as it is read from the file, and the number of letters with the same provider and reason.

public import Admission
internal import Platform

public struct DeadLetter: Sendable {
    public var id: Int64 = 0
    /// The time at which the event was given up, in nanoseconds since 1970.
    public var at: Int64
    /// The time at which the event came in, in nanoseconds since 1970.
    public var arrival: Int64
    public var provider: String
    public var route: String
    public var reason: String
    public var attempts: Int
    public var code: Int
    public var answer: String
    /// The event without its newline.
    public var event: [UInt8]
    /// The keys of its subjects.
    public var subjects: [SubjectKey] = []
    /// The level of consent under which the event was admitted. It is empty if the event demanded none, and nil for the highest level.
    public var level: String?

    /// The letter as one line of JSON.
    public var json: String {
        "{\"at\":\"\(timestamp(at))\",\"provider\":\(jsonQuoted(provider)),\"route\":\(jsonQuoted(route)),"
            + "\"reason\":\(jsonQuoted(reason)),\"attempts\":\(attempts),\"code\":\(code),\"answer\":\(jsonQuoted(answer)),"
            + "\"arrival\":\"\(timestamp(arrival))\",\"event\":\(String(decoding: event, as: UTF8.self))}"
    }
}

/// The number of letters of one provider and reason, with the times of the oldest and the newest.
public struct DeadLetterCount: Sendable, Equatable {
    public var provider: String
    public var reason: String
    public var count: Int
    public var oldest: Int64
    public var newest: Int64
}
