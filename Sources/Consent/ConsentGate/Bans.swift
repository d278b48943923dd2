// Withdrawals whose destruction is not done, by subject: what came in before them may not go, whatever is said later.

internal import Admission

struct Bans {
    struct Ban {
        /// Of its receipt.
        var number: Int64
        /// When it was written down, in nanoseconds since 1970.
        var time: Int64
        /// nil: everything was withdrawn.
        var purposes: [String]?
    }

    private var bans: [SubjectKey: [Ban]] = [:]
    private var subjects: [Int64: [SubjectKey]] = [:]

    var isEmpty: Bool { bans.isEmpty }
    subscript(subject: SubjectKey) -> [Ban] { bans[subject] ?? [] }

    mutating func add(_ ban: Ban, of keys: [SubjectKey]) {
        guard subjects[ban.number] == nil else { return }
        subjects[ban.number] = keys
        for key in keys { bans[key, default: []].append(ban) }
    }

    mutating func lift(_ number: Int64) {
        for key in subjects.removeValue(forKey: number) ?? [] {
            bans[key]?.removeAll { $0.number == number }
            if bans[key]?.isEmpty == true { bans[key] = nil }
        }
    }
}
