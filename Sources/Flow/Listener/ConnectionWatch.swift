// Ends the connections whose deadline has passed. The thread sleeps until the earliest deadline, or without a limit if there is none, so an
// idle listener causes no wake-ups. If almost as many connections are open as may be, it also ends those that have waited longest for a
// request, so that new clients can connect. A connection is only shut down here and never closed: closing it is left to its owner.

internal import Glibc
internal import Platform

/// A connection that is open.
final class Peer: Sendable {
    let descriptor: Int32
    let number: Int
    init(descriptor: Int32, number: Int) {
        self.descriptor = descriptor
        self.number = number
    }

    /// False if the client has closed the connection, or its sending side. Call it only while a request waits for its answer, since the
    /// descriptor is open then.
    var isThere: Bool {
        var entry = pollfd(fd: descriptor, events: Peer.closedSending, revents: 0)
        return poll(&entry, 1, 0) <= 0 || entry.revents & (Peer.closedSending | Int16(POLLHUP | POLLERR)) == 0
    }

    /// POLLRDHUP of Linux. The module of the C library does not have it.
    private static let closedSending: Int16 = 0x2000
}

final class ConnectionWatch: Sendable {
    /// A connection must have waited so long for a request before it is ended to make room for others.
    static let leastIdle = Duration.seconds(1)
    /// If fewer connections than one of so many are free, idle ones are ended.
    static let reserve = 16
    /// Then so many are ended that one of so many is free.
    static let relief = 4

    private struct Table {
        /// The deadlines by connection number. An entry is nil if no deadline applies, for example while the router works and the client
        /// waits.
        var deadlines: [Instant?] = []
        var descriptors: [Int32] = []
        /// Since when each connection has waited for a request. It is nil during one.
        var idleSince: [Instant?] = []
        /// The connections that were shut down to make room and are not closed yet.
        var leaving: Set<Int> = []
        var free: [Int] = []
        /// A time not later than the earliest deadline. It is nil if there is no deadline.
        var next: Instant?
        var open = 0
        var cut = 0
        var shed = 0
        var isEnding = false
    }

    private let clock: Clock
    /// More open connections than this are too many.
    private let comfortable: Int
    /// If too many are open, idle ones are ended until no more than this are open.
    private let relieved: Int
    private let table = Monitor(Table())

    /// `most` is the largest number of connections that may be open.
    init(clock: Clock, most: Int) {
        self.clock = clock
        comfortable = most - most / ConnectionWatch.reserve
        relieved = most - most / ConnectionWatch.relief
    }

    /// The number of open connections, the number that were ended because they were slow, and the number that made room for others.
    var counts: (open: Int, cut: Int, shed: Int) { table.withLock { ($0.open, $0.cut, $0.shed) } }

    func opened(_ descriptor: Int32, deadline: Instant) -> Peer {
        let now = clock.now()
        let (number, isEarlier) = table.withLock { table in
            table.open += 1
            let number: Int
            if let free = table.free.popLast() {
                number = free
                table.descriptors[number] = descriptor
            } else {
                number = table.descriptors.count
                table.descriptors.append(descriptor)
                table.deadlines.append(nil)
                table.idleSince.append(nil)
            }
            return (number, set(number, deadline, idleSince: now, in: &table))
        }
        if isEarlier { table.wake() }
        return Peer(descriptor: descriptor, number: number)
    }

    /// Removes a connection. Call this before its descriptor is closed: otherwise a new connection could get the same descriptor and be
    /// shut down instead.
    func closed(_ peer: Peer) {
        table.withLock { table in
            table.open -= 1
            assert(table.descriptors[peer.number] == peer.descriptor, "a connection was closed twice")
            table.descriptors[peer.number] = -1
            table.deadlines[peer.number] = nil
            table.idleSince[peer.number] = nil
            table.leaving.remove(peer.number)
            table.free.append(peer.number)
            assert(table.open == table.descriptors.count - table.free.count, "the number of open connections is wrong")
        }
    }

    /// Sets the deadline of a connection. `isIdle` is true if the connection waits for a request from now on.
    func set(_ peer: Peer, _ deadline: Instant?, isIdle: Bool = false) {
        let now = isIdle ? clock.now() : nil
        if table.withLock({ set(peer.number, deadline, idleSince: now, in: &$0) }) { table.wake() }
    }

    /// Returns true if the watch must look earlier than it would have.
    private func set(_ number: Int, _ deadline: Instant?, idleSince now: Instant?, in table: inout Table) -> Bool {
        assert(table.descriptors[number] >= 0, "a deadline is set for a closed connection")
        // A connection that leaves was shut down, so no deadline applies to it any more.
        if table.leaving.contains(number) { return false }
        table.deadlines[number] = deadline
        table.idleSince[number] = now
        var next = deadline
        if let now, table.open - table.leaving.count > comfortable {
            let ripe = now + ConnectionWatch.leastIdle
            next = min(next ?? ripe, ripe)
        }
        guard let next, table.next.map({ next < $0 }) ?? true else { return false }
        table.next = next
        return true
    }

    /// Shuts down all connections whose deadline has passed, and idle ones if too many are open. Returns the number of the latter.
    @discardableResult func sweep() -> Int {
        let now = clock.now()
        return table.withLock { table in
            let shedBefore = table.shed
            var next: Instant?
            for number in table.deadlines.indices {
                guard let deadline = table.deadlines[number] else { continue }
                if deadline <= now {
                    assert(table.descriptors[number] >= 0, "a closed connection has a deadline")
                    shutdown(table.descriptors[number], Int32(SHUT_RDWR))
                    table.deadlines[number] = nil
                    table.idleSince[number] = nil
                    table.leaving.insert(number)
                    table.cut += 1
                } else if next.map({ deadline < $0 }) ?? true {
                    next = deadline
                }
            }
            if let again = shed(&table, now) { next = min(next ?? again, again) }
            table.next = next
            return table.shed - shedBefore
        }
    }

    /// If too many connections are open, shuts down those that have waited longest for a request. Returns the time at which the next one has
    /// waited long enough, or nil if no more have to be ended.
    private func shed(_ table: inout Table, _ now: Instant) -> Instant? {
        let staying = table.open - table.leaving.count
        guard staying > comfortable else { return nil }
        let idle = table.idleSince.indices.compactMap { number in table.idleSince[number].map { (since: $0, number: number) } }
            .sorted { $0.since < $1.since }
        for connection in idle.prefix(staying - relieved) {
            let ripe = connection.since + ConnectionWatch.leastIdle
            guard ripe <= now else { return ripe }
            assert(table.descriptors[connection.number] >= 0, "a closed connection is idle")
            shutdown(table.descriptors[connection.number], Int32(SHUT_RDWR))
            table.deadlines[connection.number] = nil
            table.idleSince[connection.number] = nil
            table.leaving.insert(connection.number)
            table.shed += 1
        }
        return nil
    }

    /// Sweeps at each deadline until `end` is called. `onShed` gets the number of connections that were ended to make room for others.
    func run(onShed: (Int) -> Void) {
        while true {
            let clock = clock
            let goesOn = table.waitUntilReady { table -> Readiness<Bool> in
                if table.isEnding { return .ready(false) }
                guard let next = table.next else { return .notBefore(nil) }
                return next <= clock.now() ? .ready(true) : .notBefore(next)
            }
            if !goesOn { return }
            onShed(sweep())
        }
    }

    func end() {
        table.withLock { $0.isEnding = true }
        table.wake()
    }
}
