// Ends the connections whose deadline has passed. The thread sleeps until the earliest deadline, or without a limit if there is none, so an
// idle listener causes no wake-ups. A connection is only shut down here and never closed: closing it is left to its owner. Those that make
// room for new clients are ended by the server.

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
    private struct Table {
        /// The deadlines by connection number. An entry is nil if no deadline applies, for example while the router works and the client
        /// waits.
        var deadlines: [Instant?] = []
        var descriptors: [Int32] = []
        /// The connections that were shut down and are not closed yet.
        var leaving: Set<Int> = []
        var free: [Int] = []
        /// A time not later than the earliest deadline. It is nil if there is no deadline.
        var next: Instant?
        var open = 0
        var cut = 0
        var isEnding = false
    }

    private let clock: Clock
    private let table = Monitor(Table())

    init(clock: Clock) { self.clock = clock }

    /// The number of open connections, and the number that were ended because they were slow.
    var counts: (open: Int, cut: Int) { table.withLock { ($0.open, $0.cut) } }

    func opened(_ descriptor: Int32, deadline: Instant) -> Peer {
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
            }
            return (number, set(number, deadline, in: &table))
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
            table.leaving.remove(peer.number)
            table.free.append(peer.number)
            assert(table.open == table.descriptors.count - table.free.count, "the number of open connections is wrong")
        }
    }

    /// Sets the deadline of a connection.
    func set(_ peer: Peer, _ deadline: Instant?) {
        if table.withLock({ set(peer.number, deadline, in: &$0) }) { table.wake() }
    }

    /// Returns true if the watch must look earlier than it would have.
    private func set(_ number: Int, _ deadline: Instant?, in table: inout Table) -> Bool {
        assert(table.descriptors[number] >= 0, "a deadline is set for a closed connection")
        // A connection that leaves was shut down, so no deadline applies to it any more.
        if table.leaving.contains(number) { return false }
        table.deadlines[number] = deadline
        guard let next = deadline, table.next.map({ next < $0 }) ?? true else { return false }
        table.next = next
        return true
    }

    /// Shuts down all connections whose deadline has passed.
    func sweep() {
        let now = clock.now()
        table.withLock { table in
            var next: Instant?
            for number in table.deadlines.indices {
                guard let deadline = table.deadlines[number] else { continue }
                if deadline <= now {
                    assert(table.descriptors[number] >= 0, "a closed connection has a deadline")
                    shutdown(table.descriptors[number], Int32(SHUT_RDWR))
                    table.deadlines[number] = nil
                    table.leaving.insert(number)
                    table.cut += 1
                } else if next.map({ deadline < $0 }) ?? true {
                    next = deadline
                }
            }
            table.next = next
        }
    }

    /// Sweeps at each deadline until `end` is called.
    func run() {
        while true {
            let clock = clock
            let goesOn = table.waitUntilReady { table -> Readiness<Bool> in
                if table.isEnding { return .ready(false) }
                guard let next = table.next else { return .notBefore(nil) }
                return next <= clock.now() ? .ready(true) : .notBefore(next)
            }
            if !goesOn { return }
            sweep()
        }
    }

    func end() {
        table.withLock { $0.isEnding = true }
        table.wake()
    }
}
