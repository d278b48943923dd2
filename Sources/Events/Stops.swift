// Looks ahead over a whole line for the bytes at which the plain text of a string can end. The scanner then crosses a
// string of any usual length in one step.

internal import CSIMD

/// How the bytes of a line are looked at. All ways find the same.
public enum Lookahead: String, Sendable, CaseIterable {
    /// Eight bytes at a time in general registers; on every machine.
    case words
    #if arch(x86_64)
        case sse2
        case avx2
        case avx512
    #endif

    /// Whether this processor can.
    public var isSupported: Bool {
        switch self {
        case .words: true
        #if arch(x86_64)
            case .sse2: true
            case .avx2: csimd_has_avx2()
            case .avx512: csimd_has_avx512()
        #endif
        }
    }

    /// The ways that this processor can, the fastest last.
    public static let supported = allCases.filter(\.isSupported)
    public static let fastest = supported[supported.count - 1]
}

/// One bit for each byte of a line: set where a string's plain text can end. Recycled for every line.
struct Stops: ~Copyable {
    private(set) var masks: UnsafeMutablePointer<UInt64>
    private var capacity = 1 << 12
    private let lookahead: Lookahead

    init(_ lookahead: Lookahead) {
        precondition(lookahead.isSupported, "this processor has no \(lookahead)")
        self.lookahead = lookahead
        masks = Stops.room(for: capacity)
    }

    deinit { masks.deallocate() }

    /// Marks the line and returns its length. 63 bytes behind its newline must be readable.
    @inline(__always) mutating func mark(_ line: Bytes) -> Int {
        while true {
            let length =
                switch lookahead {
                case .words: csimd_mark_words(line, masks, capacity)
                #if arch(x86_64)
                    case .sse2: csimd_mark_sse2(line, masks, capacity)
                    case .avx2: csimd_mark_avx2(line, masks, capacity)
                    case .avx512: csimd_mark_avx512(line, masks, capacity)
                #endif
                }
            if length != Int.max && length != -1 { return length }
            grow()
        }
    }

    @inline(never) private mutating func grow() {
        masks.deallocate()
        capacity *= 4
        masks = Stops.room(for: capacity)
    }

    /// One mask more than is written, since a look across the last one reads the bytes behind it.
    private static func room(for count: Int) -> UnsafeMutablePointer<UInt64> {
        let masks = UnsafeMutablePointer<UInt64>.allocate(capacity: count + 1)
        masks.initialize(repeating: 0, count: count + 1)
        return masks
    }
}

/// The marks from byte i of the line on, at least 57 of them; bit 0 is byte i.
@inline(__always) func window(_ masks: UnsafePointer<UInt64>, _ i: Int) -> UInt64 {
    (UnsafeRawPointer(masks) + i &>> 3).loadUnaligned(as: UInt64.self) &>> UInt64(truncatingIfNeeded: i & 7)
}

/// The first marked byte at or after byte i of the line. The line's newline is marked, so there always is one.
@inline(__always) func nextStop(_ masks: UnsafePointer<UInt64>, _ start: Int) -> Int {
    let marks = window(masks, start)
    return marks != 0 ? start &+ marks.trailingZeroBitCount : farStop(masks, start)
}

@inline(never) private func farStop(_ masks: UnsafePointer<UInt64>, _ start: Int) -> Int {
    var i = start
    while true {
        let marks = window(masks, i)
        if marks != 0 { return i &+ marks.trailingZeroBitCount }
        i = (i | 7) &+ 57
    }
}

/// Where a key that begins at a quote ends, and the marks behind that, so that a short member needs no second look.
struct KeyEnd {
    /// The first stop behind the opening quote: the closing quote of a plain key.
    let end: Int
    private let from: Int
    private let marks: UInt64

    @inline(__always) init(_ masks: UnsafePointer<UInt64>, _ quote: Int) {
        from = quote &+ 1
        let all = window(masks, from)
        if all != 0 {
            end = from &+ all.trailingZeroBitCount
            marks = all & (all &- 1)
        } else {
            end = farStop(masks, from)
            marks = 0
        }
    }

    /// The first stop behind the opening quote of the key's value.
    @inline(__always) func valueStop(_ masks: UnsafePointer<UInt64>, _ quote: Int) -> Int {
        let behind = marks & (marks &- 1)
        if behind != 0, from &+ marks.trailingZeroBitCount == quote { return from &+ behind.trailingZeroBitCount }
        return nextStop(masks, quote &+ 1)
    }
}
