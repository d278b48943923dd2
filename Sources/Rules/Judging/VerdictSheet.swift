// Collects the verdicts of a block for the audit trail: for each event that is kept a row with the keyed hash of its id, and one byte for each
// route. The hash is made only for events that are kept. Who watches events gets the verdicts from the row of the present event.

internal import Editing
internal import Events

/// Which verdicts are collected, and under which key ids are hashed.
public struct VerdictKeeping: Sendable {
    /// The key of the HMAC.
    public var key: [UInt8]
    /// True if the events that the gate admitted on all routes have rows too.
    public var keepsAll: Bool
    public init(key: [UInt8], keepsAll: Bool) {
        self.key = key
        self.keepsAll = keepsAll
    }
}

struct VerdictSheet: ~Copyable {
    /// The bytes of the hash at the beginning of a row.
    static let hashSize = 16

    /// True if verdicts are collected for the audit trail.
    let isKeeping: Bool
    /// True if somebody watches the events.
    var isWatched = false { didSet { isOn = isKeeping || isWatched } }
    /// True if the row of the present event is needed.
    private(set) var isOn: Bool
    /// The verdicts on the present event, with a bit for each of `Tally.columns`.
    private(set) var verdicts: UInt32 = 0
    /// The key, made only if verdicts are collected: it loads libcrypto.
    private let key: HMACKey?
    private let keepsAll: Bool
    private let width: Int
    /// The row of the present event.
    private let row: UnsafeMutablePointer<UInt8>
    private var isDenied = false
    private var rows: [UInt8] = []

    init(_ keeping: VerdictKeeping?, routes: Int) {
        isKeeping = keeping != nil
        isOn = isKeeping
        key = keeping.map { HMACKey($0.key) }
        keepsAll = keeping?.keepsAll ?? false
        width = VerdictSheet.hashSize + routes
        row = .allocate(capacity: width)
        row.initialize(repeating: 0, count: width)
    }

    deinit { row.deallocate() }

    /// Begins with another event.
    @inline(__always) mutating func begin() {
        isDenied = false
        verdicts = 0
    }

    @inline(__always) mutating func set(_ verdict: Verdict, route: Int) {
        let column = Tally.column(of: verdict)
        row[VerdictSheet.hashSize + route] = UInt8(truncatingIfNeeded: column)
        verdicts |= 1 &<< UInt32(truncatingIfNeeded: column)
        if verdict.isOfGate { isDenied = true }
    }

    /// Sets the verdict of all routes, before the routes that may take the event set their own.
    mutating func setAll(_ verdict: Verdict) {
        let column = Tally.column(of: verdict)
        (row + VerdictSheet.hashSize).update(repeating: UInt8(truncatingIfNeeded: column), count: width - VerdictSheet.hashSize)
        verdicts = 1 &<< UInt32(truncatingIfNeeded: column)
    }

    /// The verdict of each route on the present event, as indices into `Tally.columns`.
    var columns: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: row + VerdictSheet.hashSize, count: width - VerdictSheet.hashSize)
    }

    /// True if the present event gets a row in the audit trail.
    var wants: Bool { isKeeping && (keepsAll || isDenied) }

    /// Adds the row of the present event, under its `messageId` or, if it has none, its line.
    mutating func keep(_ identity: ByteRun) {
        guard let key else { preconditionFailure("a verdict is kept, and none is collected") }
        key.writeHalf(identity, to: row)
        rows.append(contentsOf: UnsafeBufferPointer(start: row, count: width))
    }

    /// Returns the hash under which an event has its rows. Returns nil if no verdicts are collected.
    mutating func hash(of identity: ByteRun) -> [UInt8]? {
        guard let key else { return nil }
        key.writeHalf(identity, to: row)
        return Array(UnsafeBufferPointer(start: row, count: VerdictSheet.hashSize))
    }

    /// The number of rows since the last call of `take`.
    var count: Int { rows.count / width }

    /// Sets another verdict of a route in a row.
    mutating func change(row: Int, route: Int, to verdict: Verdict) {
        rows[row * width + VerdictSheet.hashSize + route] = UInt8(truncatingIfNeeded: Tally.column(of: verdict))
    }

    /// Returns the rows since the last call.
    mutating func take() -> [UInt8] {
        defer { rows = [] }
        return rows
    }

    mutating func removeAll() { rows.removeAll(keepingCapacity: true) }
}
