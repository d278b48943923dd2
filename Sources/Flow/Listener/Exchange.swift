// One request and its reply. The daemon's thread owns it until it is suspended, one worker until it is answered, and then
// the daemon's thread again: its members need no lock, since each hands it on through one.

internal import CMicrohttpd
internal import Events
internal import Plans
internal import Platform

final class Exchange: @unchecked Sendable {
    let uri: String
    var head: RequestHead
    var service: (any Service)?
    /// Set when the request is not to be taken; the rest of its body is read and let go.
    var refusal: Refusal?
    var reply: Reply?
    var body = ByteBuffer()
    var received = 0
    var start = Instant(nanoseconds: 0)
    /// When its head was read, in nanoseconds since 1970.
    var arrival: Int64 = 0
    /// The client's address, when the configuration asks for it.
    var ip: String?
    /// Which key bounds the routes that its events may take, counted from 1; 0: none does.
    var key = 0
    /// The bytes of the budget that it holds.
    var held = 0
    var connection: cmicrohttpd_connection?
    /// It counts among those that a stop waits for.
    var isCounted = false

    init(uri: String, limits: HTTPLimits) {
        self.uri = uri
        head = RequestHead(method: "", uri: "", limits: limits)
    }

    var request: Request { head.request }

    func takeBody() -> ByteBuffer {
        var taken = ByteBuffer()
        swap(&taken, &body)
        return taken
    }

    /// Takes a piece of the body; false when the memory for all bodies is spent.
    func append(_ piece: UnsafeRawBufferPointer, budget: MemoryBudget) -> Bool {
        if body.count + piece.count > body.capacity {
            let growth = max(body.capacity, piece.count)
            guard budget.take(growth) else { return false }
            held += growth
        }
        body.append(contentsOf: piece)
        return true
    }

    func letGo(_ budget: MemoryBudget) {
        body = ByteBuffer()
        budget.giveBack(held)
        held = 0
    }
}
