// Finds the events of a tracking plan whose examples are alike as far as a rule reads them, so that one of them is tried for all. A large plan
// has many events with the same members, and many routes read the same few of them. What an event has at a place is looked up once for all rules.

internal import Events
internal import PlanTools

struct ExampleProfiles {
    private let events: [PlanExamples.Event]
    /// For each place a number for each event. Events with the same number have the same examples there.
    private var numbers: [Path: [Int]] = [:]

    init(_ examples: PlanExamples) { events = examples.events }

    /// Returns these events in groups. The examples of a group are alike at all of these places. The order is kept.
    mutating func groups(of indices: [Int], at paths: [Path]) -> [[Int]] {
        let profiles = Set(paths).map { numbers(at: $0) }
        var groups: [[Int]] = []
        var places: [[Int]: Int] = [:]
        for index in indices {
            let profile = profiles.map { $0[index] }
            if let place = places[profile] {
                groups[place].append(index)
            } else {
                places[profile] = groups.count
                groups.append([index])
            }
        }
        return groups
    }

    private mutating func numbers(at path: Path) -> [Int] {
        if let known = numbers[path] { return known }
        var seen: [[UInt8]: Int] = [:]
        let new = events.map { event in
            let profile = Array(event.profile(at: path).utf8)
            let number = seen[profile] ?? seen.count
            seen[profile] = number
            return number
        }
        numbers[path] = new
        return new
    }
}
