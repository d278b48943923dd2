// Where a lane's next batch grows: parcels go in, sealed batches come out when they are full, old or urgent.
// It promises that no batch exceeds the limits, single events that do alone excepted, and that order is kept.

internal import Admission
internal import Events
internal import Plans
internal import Platform

struct Assembly: ~Copyable {
    var limits: DeliveryPlan.Batch
    private var open = Parcel()
    /// When the oldest event of the open batch came in.
    private var began: Instant?
    private var isUrgent = false

    init(_ limits: DeliveryPlan.Batch) { self.limits = limits }

    /// When the first event of the open batch came in, in nanoseconds since 1970.
    var oldest: Int64? { open.entries.first?.arrival }
    var byteCount: Int { open.bytes.count }
    var isEmpty: Bool { open.isEmpty }

    /// When the open batch must leave for its age; nil while it is empty.
    var deadline: Instant? { began.map { $0 + limits.wait } }

    /// Whether the open batch must leave now, for its age or because it holds an event that does not wait.
    func isDue(at now: Instant) -> Bool { deadline.map { isUrgent || $0 <= now } ?? false }

    /// Takes everything out of the parcel, which is left empty and ready for use.
    mutating func add(_ parcel: inout Parcel, at now: Instant, seal: (Batch) -> Void) {
        guard !parcel.isEmpty else { return }
        let urgent = parcel.entries.contains { $0.isImmediate }
        if !open.isEmpty, !fits(parcel.entries.count, parcel.bytes.count) { close(seal) }
        if open.isEmpty, parcel.entries.count <= limits.events, parcel.bytes.count <= limits.bytes {
            // The usual case under load: the parcel becomes the batch and nothing is copied.
            // It gets room for the parcels that may join it, since to grow a batch is to copy it.
            let joining = min(limits.events / parcel.entries.count, limits.bytes / parcel.byteCount, 8)
            open = Parcel(roomFor: parcel, times: max(1, joining))
            swap(&open, &parcel)
        } else {
            addInRuns(parcel, seal)
            parcel.removeAll()
        }
        if began == nil { began = now }
        isUrgent = isUrgent || urgent
        if isFull { close(seal) }
    }

    /// Seals the open batch if it is old or urgent, or in any case if asked to.
    mutating func sealIfDue(at now: Instant, always: Bool = false, seal: (Batch) -> Void) {
        if always || isDue(at: now) { close(seal) }
    }

    private var isFull: Bool { open.entries.count >= limits.events || open.bytes.count >= limits.bytes }

    private func fits(_ events: Int, _ bytes: Int) -> Bool {
        open.entries.count + events <= limits.events && open.bytes.count + bytes <= limits.bytes
    }

    /// Copies the longest runs that fit, sealing in between.
    private mutating func addInRuns(_ parcel: borrowing Parcel, _ seal: (Batch) -> Void) {
        var first = 0
        while first < parcel.entries.count {
            let start = first == 0 ? 0 : Int(parcel.entries[first - 1].end)
            var next = first
            while next < parcel.entries.count, fits(next + 1 - first, Int(parcel.entries[next].end) - start) { next += 1 }
            if next == first {
                // Not even one event fits: a batch of its own, when the way is free for it.
                guard open.isEmpty else {
                    close(seal)
                    continue
                }
                next += 1
            }
            open.append(copying: first..<next, of: parcel)
            first = next
            if first < parcel.entries.count { close(seal) }
        }
    }

    private mutating func close(_ seal: (Batch) -> Void) {
        guard !open.isEmpty else { return }
        var full = Parcel()
        swap(&open, &full)
        began = nil
        isUrgent = false
        seal(Batch(full))
    }
}
