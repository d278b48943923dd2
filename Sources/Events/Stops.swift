// Marks, for a whole line, the bytes at which the plain text of a string can end: the scanner then crosses a string
// of any usual length in one step. Both ways of marking give the same masks and are compiled wherever they can be.

internal import CSIMD

/// How the bytes of a line are looked at.
public enum Lookahead: Sendable, CaseIterable {
    /// Eight bytes at a time in general registers; on every machine.
    case words
    #if arch(x86_64)
        /// Sixteen at a time; every x86-64 can.
        case sse2
    #endif

    #if arch(x86_64)
        public static let fastest = Lookahead.sse2
    #else
        public static let fastest = Lookahead.words
    #endif
}

/// One bit for each byte of a line: set where a string's plain text can end. Recycled for every line.
struct Stops: ~Copyable {
    private(set) var masks: UnsafeMutablePointer<UInt64>
    private var capacity = 64
    private let lookahead: Lookahead

    init(_ lookahead: Lookahead) {
        self.lookahead = lookahead
        masks = .allocate(capacity: capacity + 1)
    }

    deinit { masks.deallocate() }

    /// Marks the line and returns its length. 63 bytes behind its newline must be readable.
    @inline(__always) mutating func mark(_ line: Bytes) -> Int {
        let length = csimd_newline(line)
        let count = length &>> 6 &+ 1
        if count > capacity { grow(to: count) }
        let masks = masks
        switch lookahead {
        case .words: for i in 0..<count { masks[i] = csimd_stops64_words(line + i &<< 6) }
        #if arch(x86_64)
            case .sse2: for i in 0..<count { masks[i] = csimd_stops64_sse2(line + i &<< 6) }
        #endif
        }
        return length
    }

    @inline(never) private mutating func grow(to count: Int) {
        masks.deallocate()
        capacity = max(count, capacity * 2)
        // One more than is written, since a look across the last mask reads the bytes behind it.
        masks = .allocate(capacity: capacity + 1)
    }
}

/// The first marked byte at or after byte i of the line. The line's newline is marked, so there always is one.
@inline(__always) func nextStop(_ masks: UnsafePointer<UInt64>, _ start: Int) -> Int {
    var i = start
    while true {
        // Any 57 bits from bit i are in one unaligned word.
        let window = (UnsafeRawPointer(masks) + i &>> 3).loadUnaligned(as: UInt64.self) &>> UInt64(truncatingIfNeeded: i & 7)
        if window != 0 { return i &+ window.trailingZeroBitCount }
        i = (i | 7) &+ 57
    }
}
