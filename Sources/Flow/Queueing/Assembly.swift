// Builds a lane's next batch. Parcels go in, and sealed batches come out when they are full, or when the lane asks for them. No batch exceeds
// the limits, except for a single event that exceeds them alone, and the order of events is kept.

internal import Admission
internal import Events
internal import Plans
internal import Platform

struct Assembly: ~Copyable {
    var limits: DeliveryPlan.Batch
    private var open = Parcel()
    /// The time at which the oldest event of the open batch came in.
    private var began: Instant?
    private var isUrgent = false

    init(_ limits: DeliveryPlan.Batch) { self.limits = limits }

    /// The arrival of the first event of the open batch, in nanoseconds since 1970.
    var oldest: Int64? { open.entries.first?.arrival }
    var byteCount: Int { open.bytes.count }
    var isEmpty: Bool { open.isEmpty }

    /// Returns the time from which the open batch leaves if the provider is free. It is nil while the batch is empty. `isAlone` is true if
    /// no other batch of the lane is in flight or waits.
    /// `otherwise` is the longest wait if the plan names none.
    func due(isAlone: Bool, otherwise: Duration = DeliveryPlan.Batch.longestWait) -> Instant? {
        began.map { limits.due(for: $0, isUrgent: isUrgent, isAlone: isAlone, otherwise: otherwise) }
    }

    /// Takes all events out of the parcel and leaves it empty and ready for use.
    mutating func add(_ parcel: inout Parcel, at now: Instant, seal: (Batch) -> Void) {
        guard !parcel.isEmpty else { return }
        let urgent = parcel.entries.contains { $0.isImmediate }
        if !open.isEmpty, !fits(parcel.entries.count, parcel.bytes.count) { close(seal) }
        if open.isEmpty, parcel.entries.count <= limits.events, parcel.bytes.count <= limits.bytes {
            // Under load the parcel usually becomes the batch, and nothing is copied. The caller gets a parcel with reserved space for
            // others that may join it later, since growing a batch means copying it.
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
        assert(parcel.isEmpty, "events of a parcel are in no batch")
        assert(open.isEmpty == (began == nil), "an open batch has no age, or an age has no batch")
    }

    /// Seals the open batch, if there is one.
    mutating func sealOpen(_ seal: (Batch) -> Void) { close(seal) }

    private var isFull: Bool { open.entries.count >= limits.events || open.bytes.count >= limits.bytes }

    private func fits(_ events: Int, _ bytes: Int) -> Bool {
        open.entries.count + events <= limits.events && open.bytes.count + bytes <= limits.bytes
    }

    /// Copies the longest runs of events that fit, and seals a batch between two runs.
    private mutating func addInRuns(_ parcel: borrowing Parcel, _ seal: (Batch) -> Void) {
        var first = 0
        while first < parcel.entries.count {
            let start = first == 0 ? 0 : Int(parcel.entries[first - 1].end)
            var next = first
            while next < parcel.entries.count, fits(next + 1 - first, Int(parcel.entries[next].end) - start) { next += 1 }
            if next == first {
                // Not even one event fits. It gets a batch of its own, after the open batch is sealed.
                guard open.isEmpty else {
                    close(seal)
                    continue
                }
                next += 1
            }
            open.append(copying: first..<next, of: parcel)
            open.attach(parcel.marks)
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

extension DeliveryPlan.Batch {
    /// Returns the time from which an open batch leaves if the provider is free. Its first event came at `began`. `isAlone` is true if no
    /// other batch of the lane is in flight or waits. Then nothing is gained by waiting for more events, unless the plan names a time.
    func due(for began: Instant, isUrgent: Bool, isAlone: Bool, otherwise: Duration = longestWait) -> Instant {
        isUrgent || wait == nil && isAlone ? began : began + (wait ?? otherwise)
    }
}
