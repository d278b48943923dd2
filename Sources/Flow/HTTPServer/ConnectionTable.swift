// The open connections of a server, by slot: how many there are of each address, and which of them wait for a request, and since when. Only
// the thread of the server uses it.

internal import Platform

struct ConnectionTable {
    /// A connection must have waited so long for a request before it is ended to make room for another one.
    static let leastIdle = Duration.seconds(1)

    private var slots: [HTTPConnection?] = []
    private var free: [Int] = []
    private var serial: UInt32 = 0
    private var idle = IdleOrder()
    private var byAddress: [String: Int] = [:]

    var count: Int { slots.count - free.count }

    /// The connection in a slot, if there is one.
    subscript(slot: Int) -> HTTPConnection? { slots.indices.contains(slot) ? slots[slot] : nil }

    func count(of address: String?) -> Int { address.map { byAddress[$0, default: 0] } ?? 0 }

    /// Adds the connection that `make` returns for its slot and serial number. It waits for a request from now on.
    mutating func add(now: Instant, address: String?, _ make: (Int, UInt32) -> HTTPConnection) -> HTTPConnection {
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(nil) }
        assert(slots[slot] == nil, "a slot is used twice")
        serial &+= 1
        let connection = make(slot, serial)
        slots[slot] = connection
        if let address { byAddress[address, default: 0] += 1 }
        idle.add(slot, at: now)
        return connection
    }

    /// Removes a connection. Returns false if it was removed before.
    mutating func remove(_ connection: HTTPConnection) -> Bool {
        guard slots[connection.slot] === connection else { return false }
        idle.remove(connection.slot)
        slots[connection.slot] = nil
        free.append(connection.slot)
        if let address = connection.address {
            let left = count(of: address) - 1
            assert(left >= 0, "the number of connections of an address is wrong")
            byAddress[address] = left > 0 ? left : nil
        }
        return true
    }

    /// Notes that bytes of a request have arrived.
    mutating func isBusy(_ connection: HTTPConnection) { idle.remove(connection.slot) }

    mutating func isIdle(_ connection: HTTPConnection, since now: Instant) { idle.add(connection.slot, at: now) }

    /// The connection that waits longest for a request, if it has waited long enough to be ended.
    func longestIdle(at now: Instant) -> HTTPConnection? {
        guard let (slot, since) = idle.oldest, now - since >= ConnectionTable.leastIdle else { return nil }
        return slots[slot]
    }

    func each(_ visit: (HTTPConnection) -> Void) {
        for case let connection? in slots { visit(connection) }
    }
}
