// The withdrawals whose destruction is not finished, by subject. An event that came in before such a withdrawal is not delivered, even if
// the subject consents again.

internal import Admission

struct Bans {
    struct Ban {
        /// The number of the withdrawal's receipt.
        var number: Int64
        /// The time when the withdrawal was written, in nanoseconds since 1970.
        var time: Int64
        /// The withdrawn purposes. It is nil if everything was withdrawn.
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
