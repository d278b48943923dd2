// Searches a whole line in advance for the bytes at which the plain text of a string can end. The scanner then skips a string of usual
// length in one step.

internal import CSIMD

/// The methods of searching a line. All of them find the same bytes.
public enum Lookahead: String, Sendable, CaseIterable {
    /// Eight bytes at a time in general registers. It is available on every machine.
    case words
    #if arch(x86_64)
        case sse2
        case avx2
    #endif

    /// True if this processor supports the method.
    public var isSupported: Bool {
        switch self {
        case .words: true
        #if arch(x86_64)
            case .sse2: true
            case .avx2: csimd_has_avx2()
        #endif
        }
    }

    /// The methods that this processor supports, the fastest last.
    public static let supported = allCases.filter(\.isSupported)
    public static let fastest = supported[supported.count - 1]
}

/// One bit for each byte of a line. It is set where the plain text of a string can end. The memory is reused for every line.
struct Stops: ~Copyable {
    private var storage: UnsafeMutablePointer<UInt64>
    private var capacity = 1 << 12
    private let lookahead: Lookahead

    init(_ lookahead: Lookahead) {
        precondition(lookahead.isSupported, "this processor has no \(lookahead)")
        self.lookahead = lookahead
        storage = Stops.allocate(for: capacity)
    }

    deinit { storage.deallocate() }

    /// Marks the line and returns the place of its newline from the start of the block. 63 bytes after it must be readable.
    @inline(__always) mutating func mark(_ block: Bytes, _ start: Int) -> Int {
        // The marks begin at a multiple of 64, so that offsets into the block also address the marks.
        let first = start & ~63
        while true {
            let length =
                switch lookahead {
                case .words: csimd_mark_words(block + first, start & 63, storage, capacity)
                #if arch(x86_64)
                    case .sse2: csimd_mark_sse2(block + first, start & 63, storage, capacity)
                    case .avx2: csimd_mark_avx2(block + first, start & 63, storage, capacity)
                #endif
                }
            if length >= 0 {
                assert(length < capacity &* 64, "a line has more bytes than marks")
                assert(block[first &+ length] == UInt8(ascii: "\n"), "the marks of a line end before its newline")
                return first &+ length
            }
            grow()
        }
    }

    /// Returns the marks of the line that begins at `start`.
    @inline(__always) func marks(_ start: Int) -> Marks { Marks(masks: UnsafeRawPointer(storage) - (start & ~63) &>> 3) }

    @inline(never) private mutating func grow() {
        storage.deallocate()
        capacity *= 4
        storage = Stops.allocate(for: capacity)
    }

    /// Allocates one mask more than is written, because a read across the last mask includes the bytes after it.
    private static func allocate(for count: Int) -> UnsafeMutablePointer<UInt64> {
        let masks = UnsafeMutablePointer<UInt64>.allocate(capacity: count + 1)
        masks.initialize(repeating: 0, count: count + 1)
        return masks
    }
}

/// The marks of a line, addressed by offsets into its block.
struct Marks {
    /// The pointer is shifted by the place of the line, so it is valid only for that line.
    fileprivate let masks: UnsafeRawPointer

    /// Returns at least 57 marks from byte i on. Bit 0 belongs to byte i.
    @inline(__always) fileprivate func window(_ i: Int) -> UInt64 {
        (masks + i &>> 3).loadUnaligned(as: UInt64.self) &>> UInt64(truncatingIfNeeded: i & 7)
    }

    /// Returns the first marked byte at or after byte i. The newline is marked, so there always is one.
    @inline(__always) func next(_ i: Int) -> Int {
        let marks = window(i)
        return marks != 0 ? i &+ marks.trailingZeroBitCount : far(i)
    }

    @inline(never) fileprivate func far(_ start: Int) -> Int {
        var i = start
        while true {
            let marks = window(i)
            if marks != 0 { return i &+ marks.trailingZeroBitCount }
            i = (i | 7) &+ 57
        }
    }
}

/// The end of a key that begins at a quote, and the marks after it, so that a short member needs no second search.
struct KeyEnd {
    /// The first stop after the opening quote. For a plain key it is the closing quote.
    let end: Int
    private let from: Int
    private let behind: UInt64

    @inline(__always) init(_ marks: Marks, _ quote: Int) {
        from = quote &+ 1
        let all = marks.window(from)
        if all != 0 {
            end = from &+ all.trailingZeroBitCount
            behind = all & (all &- 1)
        } else {
            end = marks.far(from)
            behind = 0
        }
    }

    /// Returns the first stop after the opening quote of the key's value.
    @inline(__always) func valueStop(_ marks: Marks, _ quote: Int) -> Int {
        let rest = behind & (behind &- 1)
        if rest != 0, from &+ behind.trailingZeroBitCount == quote { return from &+ rest.trailingZeroBitCount }
        return marks.next(quote &+ 1)
    }
}
