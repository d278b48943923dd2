// The order of the connections that wait for a request, the one that waits longest first. Every operation takes constant time. It is pure.

internal import Platform

struct IdleOrder {
    /// The links of each slot. A slot that is its own next one is not in the order. The first entry is the head of the ring.
    private var next: [Int] = [0]
    private var previous: [Int] = [0]
    private var since: [Instant] = [Instant(nanoseconds: 0)]

    /// The slot that waits longest, and the time at which it began.
    var oldest: (slot: Int, since: Instant)? { next[0] == 0 ? nil : (next[0] - 1, since[next[0]]) }

    /// Adds a slot that begins to wait now. A slot that is in the order begins anew.
    mutating func add(_ slot: Int, at now: Instant) {
        remove(slot)
        let node = slot + 1
        since[node] = now
        let last = previous[0]
        (next[last], previous[node], next[node], previous[0]) = (node, last, 0, node)
    }

    mutating func remove(_ slot: Int) {
        let node = slot + 1
        while next.count <= node {
            previous.append(next.count)
            since.append(Instant(nanoseconds: 0))
            next.append(next.count)
        }
        let (before, after) = (previous[node], next[node])
        (next[before], previous[after]) = (after, before)
        (next[node], previous[node]) = (node, node)
    }
}
