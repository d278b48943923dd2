// One request and its reply. The server's thread owns it until its body is complete, then a worker until it is answered, and then the server's
// thread again. Its members need no lock, because each owner passes it on through a lock.

internal import Events
internal import HTTPServer
internal import Plans
internal import Platform

final class Exchange: @unchecked Sendable {
    let uri: String
    var head: RequestHead
    var service: (any Service)?
    /// The reason for a refusal. Once it is set, the rest of the body is read and discarded.
    var refusal: Refusal?
    var reply: Reply?
    var body = ByteBuffer()
    var received = 0
    var start = Instant(nanoseconds: 0)
    /// The time at which its head was read, in nanoseconds since 1970.
    var arrival: Int64 = 0
    /// The time by which it must be answered. It is set when its body is complete.
    var deadline = Instant(nanoseconds: .max)
    var peer: Peer?
    /// The client's address. It is nil unless the configuration asks for it.
    var ip: String?
    /// The number of the key, counted from 1, if the key limits the routes of the events or may write the ledger; otherwise 0.
    var key = 0
    /// The number of bytes that it holds of the budget.
    var held = 0
    var connection: HTTPConnection?
    /// True if its head was read when the listener accepted no more requests.
    var isLate = false

    init(uri: String, limits: HTTPLimits) {
        self.uri = uri
        head = RequestHead(limits: limits)
    }

    var request: Request { head.request }

    func takeBody() -> ByteBuffer {
        var taken = ByteBuffer()
        swap(&taken, &body)
        return taken
    }

    /// Appends a piece of the body. Returns false if the memory for all bodies is used up.
    func append(_ piece: UnsafeRawBufferPointer, budget: MemoryBudget) -> Bool {
        if body.count + piece.count > body.capacity {
            let growth = max(body.capacity, piece.count)
            guard budget.take(growth) else { return false }
            held += growth
        }
        body.append(contentsOf: piece)
        assert(body.capacity <= max(64, held + 64), "a body has more memory than the budget knows")
        return true
    }

    func letGo(_ budget: MemoryBudget) {
        body = ByteBuffer()
        budget.giveBack(held)
        held = 0
    }
}
