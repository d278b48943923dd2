// Batches of events as the gate lets them pass, and the key and the clock of the tests.

// `@testable` works only in debug builds, and a release build of all targets compiles this file too.
#if DEBUG

    internal import Events
    public import Plans
    public import Platform

    @testable public import Admission

    /// Returns a batch of these events, as the gate lets them pass.
    public func batch(_ events: [String], route: UInt16 = 0, subjects: Int = 1, level: UInt8 = EntryLevel.none) -> Batch {
        var parcel = Parcel()
        for event in events {
            parcel.bytes.append(event + "\n")
            let first = parcel.subjects.count
            for number in 0..<subjects {
                parcel.subjectColumn.append(SubjectKey(high: UInt64(event.utf8.count), low: UInt64(number)))
            }
            parcel.entryColumn.append(
                Entry(
                    end: UInt32(parcel.bytes.count), route: route, isImmediate: event.hasPrefix("!"), level: level,
                    subjectCount: UInt8(subjects),
                    firstSubject: UInt32(first), messageIDOffset: 1, messageIDCount: UInt32(min(2, event.utf8.count - 1)),
                    arrival: Int64(event.utf8.count)))
        }
        return Batch(parcel)
    }

    public func texts(_ batch: Batch) -> [String] { (0..<batch.count).map { String(decoding: batch.event($0), as: UTF8.self) } }

    public func secret(_ text: String) -> Secret { Secret(Array(text.utf8)) }

    public let hour = Clock(now: { Instant(nanoseconds: 0) }, wall: { 3_600_000_000_000 })

#endif
