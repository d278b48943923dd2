// Writes the time of an event in the unit that a vendor wants.

internal import Encoding
internal import Events

/// The forms of a time.
public enum TimeForm: Sendable {
    /// `"2026-11-21T05:49:23.123Z"`, with more digits if the time has them.
    case text
    case seconds
    case milliseconds
    case microseconds
    case nanoseconds
}

extension WireEvents {
    /// Writes a member with the time of the event: its timestamp, or else its arrival. It counts as the timestamp that has been written. A
    /// timestamp that is no time is left to `rest`.
    public mutating func member(_ key: StaticString, timeOf event: CanonicalEvent, as form: TimeForm) {
        let parsed = event.parsedTimestamp
        write(key: key)
        put(time: parsed ?? event.arrival, as: form)
        if parsed != nil { take(event.value(CanonicalEvent.Place.timestamp)) }
    }

    /// Writes a time in nanoseconds since 1970. A unit that is coarser cuts it off.
    public mutating func put(time: Int64, as form: TimeForm) {
        switch form {
        case .text: Times.write(time, into: &buffer)
        case .seconds: put(number: Int(floored(time, to: 1_000_000_000)))
        case .milliseconds: put(number: Int(floored(time, to: 1_000_000)))
        case .microseconds: put(number: Int(floored(time, to: 1000)))
        case .nanoseconds: put(number: Int(time))
        }
    }

    private func floored(_ time: Int64, to unit: Int64) -> Int64 { time / unit - (time % unit < 0 ? 1 : 0) }
}
