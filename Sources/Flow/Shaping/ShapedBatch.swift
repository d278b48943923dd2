// Shapes a batch of a lane, and translates the outcome of the shaped batch back. Every event of the lane's batch gets exactly one outcome: the
// provider's, or one of its own if the provider does not get it.

public import Admission
public import Delivery
public import Judging
public import Queueing

/// A batch as the provider gets it.
public struct ShapedBatch: Sendable {
    /// The shaped events. It is nil if no event is left.
    public let batch: Batch?
    /// For each shaped event, its index in the lane's batch. It is nil if the indices are the same.
    let places: [Int]?
    /// The outcomes of the events that the provider does not get, by their index in the lane's batch.
    let own: [Int: Outcome]
    /// The number of times that an expression had no value.
    let errors: Int

    /// Translates a question about shaped events into one about the events of the lane's batch.
    public func asking(_ asking: @escaping Asking) -> Asking {
        guard let places else { return asking }
        return { events in
            let all = events.map { $0.map { places.indices.contains(Int(clamping: $0)) ? places[Int($0)] : .max } } ?? places
            return all.map { UInt64($0) }.withUnsafeBufferPointer { asking($0) }
        }
    }

    /// Returns the outcome of the lane's batch. `outcome` is that of the shaped batch, and nil if the provider was not called.
    public func outcome(_ outcome: BatchOutcome?) -> BatchOutcome {
        guard let outcome else {
            if case .filtered? = own[0], own.values.allSatisfy({ $0 == own[0] }) { return BatchOutcome(own[0]!) }
            // Every event has an outcome of its own, and that of the batch says only that the provider was not called.
            return BatchOutcome(.filtered(.events), events: own)
        }
        guard let places else { return outcome }
        var events = own
        for (index, one) in outcome.events where places.indices.contains(index) { events[places[index]] = one }
        return BatchOutcome(outcome.batch, events: events)
    }
}

/// Shapes batches. Only one thread at a time may use it.
public struct BatchShaper: ~Copyable {
    private let shape: Shape
    private var shaper: Shaper

    public init(_ shape: Shape) {
        self.shape = shape
        shaper = Shaper(shape)
    }

    /// Shapes the events of the batch in order. If they grow beyond what a batch may hold, the rest stays untried.
    public mutating func shape(_ batch: Batch) -> ShapedBatch {
        let errorsBefore = shaper.errors
        var parcel = Parcel(roomFor: shape.isChanging ? [batch] : [])
        // The indices of the events in the parcel, and those of the parcel's events that are handed over.
        var places: [Int] = []
        var kept: [Int] = []
        places.reserveCapacity(batch.count)
        kept.reserveCapacity(batch.count)
        var copies = 0
        var size = 0
        var own: [Int: Outcome] = [:]
        for index in 0..<batch.count {
            let before = parcel.byteCount
            switch shaper.shape(index, of: batch, into: &parcel) {
            case .filtered(let stage):
                own[index] = .filtered(BatchShaper.exclusion(stage))
                continue
            case .withheld:
                own[index] = .filtered(.withheld)
                continue
            case .broken(let reason):
                own[index] = .rejected(Answer("the event cannot be transformed for its provider: \(reason)"))
                continue
            case .shaped: break
            }
            let bytes = shape.isChanging ? parcel.byteCount - before : batch.event(index).count + 1
            let copy = shape.isChanging ? copies : index
            copies += 1
            if let most = shape.largest, bytes > most {
                own[index] = .rejected(Answer("the event has \(bytes) bytes when it is handed over, and the module takes \(most) at most"))
                continue
            }
            if size > 0, size + bytes > shape.batchBytes {
                for rest in index..<batch.count { own[rest] = .untried }
                break
            }
            size += bytes
            places.append(index)
            kept.append(copy)
        }
        let errors = shaper.errors - errorsBefore
        guard !places.isEmpty else { return ShapedBatch(batch: nil, places: nil, own: own, errors: errors) }
        let isWhole = places.count == batch.count
        if !shape.isChanging { return ShapedBatch(batch: isWhole ? batch : batch.subset(kept), places: places, own: own, errors: errors) }
        let isUncut = kept.count == copies
        let all = Batch(parcel)
        return ShapedBatch(batch: isUncut ? all : all.subset(kept), places: isWhole ? nil : places, own: own, errors: errors)
    }

    private static func exclusion(_ stage: FilterStage) -> Exclusion {
        switch stage {
        case .events: .events
        case .match: .match
        case .not: .not
        case .where: .where
        case .whereErrors: .whereErrors
        case .key, .else: preconditionFailure("a provider has no keys and no order")
        }
    }
}
