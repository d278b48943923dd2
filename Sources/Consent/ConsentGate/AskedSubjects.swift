// A filter of the subjects that a judge looked up. It never misses one of them, and may report others too. Each subject sets one bit, so
// noting a subject costs almost nothing.

internal import Admission

struct AskedSubjects: ~Copyable {
    private static let wordCount = 256
    private let bits: UnsafeMutablePointer<UInt64>

    init() {
        bits = .allocate(capacity: AskedSubjects.wordCount)
        bits.initialize(repeating: 0, count: AskedSubjects.wordCount)
    }

    deinit { bits.deallocate() }

    @inline(__always) func note(_ key: SubjectKey) {
        let place = bits + AskedSubjects.word(key)
        place.pointee = place.pointee | AskedSubjects.bit(key)
    }

    /// Returns false if the subject was certainly not looked up.
    func mayContain(_ key: SubjectKey) -> Bool { bits[AskedSubjects.word(key)] & AskedSubjects.bit(key) != 0 }

    func removeAll() { bits.update(repeating: 0, count: AskedSubjects.wordCount) }

    // The hash uses other bits of the key than the tables of `ConsentRecords`.
    @inline(__always) private static func word(_ key: SubjectKey) -> Int { Int(truncatingIfNeeded: key.high >> 6) & (wordCount - 1) }
    @inline(__always) private static func bit(_ key: SubjectKey) -> UInt64 { 1 << (key.high & 63) }
}
