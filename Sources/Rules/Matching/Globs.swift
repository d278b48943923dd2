// Compiled globs on event names. Most of them are an exact name, a prefix or a suffix, and cost one comparison.

internal import CPlatform
public import Events
public import Plans

/// A list of globs. A name matches if any of them does.
public struct Globs: BitwiseCopyable {
    @usableFromInline let rules: UnsafeBufferPointer<GlobRule>

    public init(_ globs: [Glob], in store: Store) {
        rules = store.list(globs.map { GlobRule($0, in: store) })
    }

    @inlinable @inline(__always) public var isEmpty: Bool { rules.isEmpty }

    /// The number of globs that may have to search the whole name, because they have a piece between two stars.
    public var searches: Int { rules.count { $0.kind == .general } }

    @inlinable @inline(__always) public func match(_ name: ByteRun) -> Bool {
        var rule = rules.baseAddress!
        let end = rule + rules.count
        while rule < end {
            if GlobRule.matches(rule, name) { return true }
            rule += 1
        }
        return false
    }
}

@usableFromInline struct GlobRule: BitwiseCopyable {
    @usableFromInline enum Kind: UInt8, BitwiseCopyable { case any, exact, prefix, suffix, general }

    @usableFromInline let kind: Kind
    @usableFromInline let text: ByteRun
    /// The literal pieces between the stars. The first and the last must be at the ends of the name.
    @usableFromInline let pieces: UnsafeBufferPointer<ByteRun>

    init(_ glob: Glob, in store: Store) {
        let pieces = glob.pieces
        self.pieces = store.list(pieces.map(store.text))
        switch pieces.count {
        case 0, 1: (kind, text) = (.exact, store.text(pieces.first ?? []))
        case _ where pieces.allSatisfy(\.isEmpty): (kind, text) = (.any, store.text([]))
        case 2 where pieces[1].isEmpty: (kind, text) = (.prefix, store.text(pieces[0]))
        case 2 where pieces[0].isEmpty: (kind, text) = (.suffix, store.text(pieces[1]))
        default: (kind, text) = (.general, store.text([]))
        }
    }

    /// Takes a pointer, since copying a rule costs more than comparing a few bytes.
    @inlinable @inline(__always) static func matches(_ rule: UnsafePointer<GlobRule>, _ name: ByteRun) -> Bool {
        let count = rule.pointee.text.count
        var start = name.base
        switch rule.pointee.kind {
        case .general: return matches(rule.pointee.pieces, name)
        case .any: return true
        case .exact: guard name.count == count else { return false }
        case .prefix: guard name.count >= count else { return false }
        case .suffix:
            guard name.count >= count else { return false }
            start += name.count &- count
        }
        return sameBytes(start, b: rule.pointee.text.base, count: count)
    }

    /// Finds each piece at its leftmost place behind the one before. With stars alone, this finds a match if there is one. The time grows with
    /// the length of the name, whatever the pieces are.
    @usableFromInline @inline(never) static func matches(_ pieces: UnsafeBufferPointer<ByteRun>, _ name: ByteRun) -> Bool {
        let first = pieces[0]
        let last = pieces[pieces.count - 1]
        assert(pieces.count >= 2, "a glob without a star has one form, and no pieces")
        guard name.count >= first.count + last.count, sameBytes(name.base, b: first.base, count: first.count),
            sameBytes(name.base + (name.count - last.count), b: last.base, count: last.count)
        else { return false }
        var at = first.count
        let end = name.count - last.count
        for piece in pieces[1..<(pieces.count - 1)] {
            guard piece.count > 0 else { continue }
            guard at + piece.count <= end, let place = cplatform_find(name.base + at, end - at, piece.base, piece.count) else {
                return false
            }
            at = place - UnsafeRawPointer(name.base) + piece.count
            assert(at <= end, "two pieces overlap")
        }
        return true
    }
}

/// The event's name, read at most once for each event.
public struct EventName: ~Copyable {
    private enum State { case unread, none, some }
    private var state = State.unread
    private var text = ByteRun(base: Bytes(bitPattern: 1)!, count: 0)
    private var decoder = Decoder()

    public init() {}

    public mutating func forget() { state = .unread }

    /// Returns the name. Returns nil if the member is absent or not a string, or has a lone surrogate, which matches no text.
    @inline(__always) public mutating func read(_ event: ScannedEvent, slot: Int) -> ByteRun? {
        if state == .unread { find(event, slot) }
        return state == .some ? text : nil
    }

    private mutating func find(_ event: ScannedEvent, _ slot: Int) {
        guard let raw = event.slots[slot].string(in: event.block), let decoded = decoder.decode(raw) else {
            state = .none
            return
        }
        text = decoded
        state = .some
    }
}
