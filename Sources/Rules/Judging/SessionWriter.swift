// Writes the id of the subject's session into the copies of an event. The edits write a placeholder of the same length, as they write any
// constant; the writer finds it in the copy and replaces it. The id never reveals the subject: it is a keyed hash of the subject and of
// the session's start.

internal import Admission
internal import Events
internal import Plans
internal import Platform

final class SessionMemory: Sendable {
    private let sessions: Monitor<Sessions>
    init(_ plan: SessionPlan) { sessions = Monitor(Sessions(idle: plan.idle, most: plan.most)) }
    func start(of subject: SubjectKey, at now: Int64) -> Int64 { sessions.withLock { $0.start(of: subject, at: now) } }
    func forget(_ plan: SessionPlan) { sessions.withLock { $0 = Sessions(idle: plan.idle, most: plan.most) } }
}

struct SessionRule: BitwiseCopyable {
    /// The slot of the member whose value is the subject.
    let subject: Int
    /// The slot of the member that gets the id, among the writer's paths.
    let place: Int
    /// The sessions. The ruleset owns them.
    let memory: Unmanaged<SessionMemory>
}

struct SessionID: BitwiseCopyable {
    let high: UInt64
    let low: UInt64
}

struct SessionWriter: ~Copyable {
    /// The placeholder that the edits write for an id. It is as long as an id.
    static let placeholder = "\"00000000-0000-0000-0000-000000000000\""

    private let key: SipKey
    private var scanner: Scanner
    private var decoder = Decoder()

    /// `paths` are the members that get ids.
    init(_ paths: PathTrie, key: SipKey) {
        self.key = key
        scanner = Scanner(paths, depth: paths.count > PathTrie.root + 1 ? Scanner.deepest : 1)
    }

    @inline(never) mutating func hasSubject(_ rule: UnsafePointer<SessionRule>, _ event: ScannedEvent) -> Bool {
        decoder.identity(event.slots[rule.pointee.subject], in: event.block, booleans: false) != nil
    }

    /// Returns the id of the event's session. Returns nil if the event names no subject.
    @inline(never) mutating func id(_ rule: UnsafePointer<SessionRule>, _ event: ScannedEvent, at now: Int64) -> SessionID? {
        guard let text = decoder.identity(event.slots[rule.pointee.subject], in: event.block, booleans: false) else { return nil }
        let subject = key.hash128(text)
        let start = rule.pointee.memory._withUnsafeGuaranteedRef { memory in
            memory.start(of: SubjectKey(high: subject.high, low: subject.low), at: now)
        }
        return withUnsafeBytes(of: (subject.low, subject.high, start)) { words in
            let (low, high) = key.hash128(ByteRun(base: words.baseAddress!.assumingMemoryBound(to: UInt8.self), count: words.count))
            return SessionID(high: high, low: low)
        }
    }

    /// Replaces the placeholder in a line that the editor has written.
    @inline(never) mutating func write(_ id: SessionID, _ rule: UnsafePointer<SessionRule>, on line: ByteRun) {
        guard let event = scanner.scan(line.base, 0) else { return }
        let slot = event.slots[rule.pointee.place]
        guard Int(slot.end - slot.start) == SessionWriter.placeholder.utf8.count else { return }
        assert(event.block[Int(slot.start)] == UInt8(ascii: "\""), "the placeholder is a string")
        // The UUID is of version 8, whose content is free.
        UUIDText.write(
            id.high & 0xffff_ffff_ffff_0fff | 0x8000, id.low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000,
            to: UnsafeMutablePointer(mutating: line.base) + Int(slot.start) + 1)
    }
}

enum UUIDText {
    /// Writes thirty-six characters.
    static func write(_ high: UInt64, _ low: UInt64, to text: UnsafeMutablePointer<UInt8>) {
        var at = 0
        for nibble in 0..<32 {
            if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                text[at] = UInt8(ascii: "-")
                at += 1
            }
            let half = nibble < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: half &>> UInt64(60 - nibble % 16 * 4)) & 15
            text[at] = digit < 10 ? digit + UInt8(ascii: "0") : digit - 10 + UInt8(ascii: "a")
            at += 1
        }
    }
}
