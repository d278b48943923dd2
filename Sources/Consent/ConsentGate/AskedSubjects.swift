// For whom a judge looked something up, as a filter that forgets nobody and may name others too: a bit for each subject, so that it
// costs next to nothing to note one.

internal import Admission

struct AskedSubjects: ~Copyable {
    private static let words = 256
    private let bits: UnsafeMutablePointer<UInt64>

    init() {
        bits = .allocate(capacity: AskedSubjects.words)
        bits.initialize(repeating: 0, count: AskedSubjects.words)
    }

    deinit { bits.deallocate() }

    @inline(__always) func note(_ key: SubjectKey) {
        let place = bits + AskedSubjects.word(key)
        place.pointee = place.pointee | AskedSubjects.bit(key)
    }

    /// False: it was not asked for.
    func mayContain(_ key: SubjectKey) -> Bool { bits[AskedSubjects.word(key)] & AskedSubjects.bit(key) != 0 }

    func removeAll() { bits.update(repeating: 0, count: AskedSubjects.words) }

    // Not the bits by which the records find their places.
    @inline(__always) private static func word(_ key: SubjectKey) -> Int { Int(truncatingIfNeeded: key.high >> 6) & (words - 1) }
    @inline(__always) private static func bit(_ key: SubjectKey) -> UInt64 { 1 << (key.high & 63) }
}
