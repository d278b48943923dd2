// The form of `delivery`, which says how a lane delivers: for a provider in routes.json, and for a module in its description.

internal import Document
internal import FormReading
internal import Plans

enum DeliveryForm {
    /// The values that are written. All others come from the module or from the router's defaults.
    struct Draft: Sendable {
        struct Batch: Sendable {
            var events: Int?
            var bytes: Int?
            var wait: Duration?
        }
        struct Queue: Sendable {
            var memory: Int?
            var disk: Int?
            var durability: DeliveryPlan.Queue.Durability?
            var full: DeliveryPlan.Queue.Full?
        }
        struct Retry: Sendable {
            var first: Duration?
            var most: Duration?
            var total: Duration?
        }
        var batch = Batch()
        var queue = Queue()
        var retry = Retry()
        var deadLetters: DeliveryPlan.DeadLetters?
        var breaker: Int?
        var deadline: Duration?
        var abandon: Int?
        var retention: Duration?
        var immediate: [Glob]?
        var ordered: Bool?
    }

    private static let most = 1_000_000_000
    private static let year = 366 * 86_400_000

    static let form = Form<Draft>.object(
        Draft(),
        [
            Member(
                "batch", batch, "When a batch is sent: at the limit that is reached first.", example: #"{"events": 500, "wait": "1s"}"#,
                into: \.batch),
            Member(
                "queue", queue, "The events that wait for the provider, and what happens when the queue is full.",
                example: #"{"disk": "1GB"}"#, into: \.queue),
            Member("retry", retry, "How a batch that was not accepted is sent again.", example: #"{"for": "1h"}"#, into: \.retry),
            Member(
                "dead_letters", Forms.choice(DeliveryPlan.DeadLetters.self),
                "When dead letters cannot be kept: they are lost, or the lane waits until they are kept.", into: \.deadLetters),
            Member(
                "breaker", Forms.integer(1...1_000_000), "How many failures in a row open the breaker; then one batch at a time probes.",
                into: \.breaker),
            Member("deadline", Forms.time(0...year), "How long a call of the module may take; 0s means no limit.", into: \.deadline),
            Member("abandon", Forms.integer(1...1000), "How many calls past the deadline stop the lane.", into: \.abandon),
            Member(
                "retention", retention,
                "How old events may get while they wait or are dead letters, such as \"30d\"; no limit when left out.", example: #""30d""#,
                into: \.retention),
            Member(
                "immediate", RouteForms.someGlobs, "Events whose name matches do not wait for their batch to fill; none when left out.",
                example: #"["error_*"]"#, into: \.immediate),
            Member(
                "ordered", Forms.boolean, "Whether batches are sent one at a time, and later ones wait until a retry has ended.",
                into: \.ordered),
        ], defaults: Draft(DeliveryPlan()))

    static let retention = Forms.time(1...10 * year)

    private static let batch = Form<Draft.Batch>.object(
        Draft.Batch(),
        [
            Member("events", Forms.integer(1...1_000_000), "The most events of a batch.", into: \.events),
            Member("bytes", Forms.size(1...most), "The most bytes of a batch.", into: \.bytes),
            Member(
                "wait", Forms.time(0...year),
                "The longest time that an event waits for others; it leaves as soon as no batch of the provider is under way when left out.",
                example: #""1s""#, into: \.wait),
        ], defaults: Draft(DeliveryPlan()).batch)

    private static let queue = Form<Draft.Queue>.object(
        Draft.Queue(),
        [
            Member("memory", Forms.size(1...(1 << 40)), "The most bytes that wait in memory.", into: \.memory),
            Member(
                "disk", Forms.size(1...(1 << 50)),
                "The most bytes that wait on disk; with it the queue survives the process; nothing is kept on disk when left out.",
                example: #""1GB""#, into: \.disk
            ),
            Member(
                "durability", Forms.choice(DeliveryPlan.Queue.Durability.self),
                "What stored events survive: the end of the process, or a loss of power.", into: \.durability
            ),
            Member(
                "full", Forms.choice(DeliveryPlan.Queue.Full.self),
                "When the queue is full: the source waits, or events go from memory to disk, or are dropped.", into: \.full),
        ], defaults: Draft(DeliveryPlan()).queue)

    private static let retry = Form<Draft.Retry>.object(
        Draft.Retry(),
        [
            Member("first", Forms.time(1...year), "The first pause; later ones double.", into: \.first),
            Member("most", Forms.time(1...year), "The longest pause.", into: \.most),
            Member("for", Forms.time(0...year), "How long a batch is tried before it goes to the dead letters.", into: \.total),
        ], defaults: Draft(DeliveryPlan()).retry)

    /// Returns `base` with the written values in place of its own. Values that are not written are lowered to fit the written ones and the
    /// limits of the module. Reports written values that do not fit.
    static func merge(_ draft: Draft, node: Node, over base: DeliveryPlan, limits: ModuleDescription.Limits?, reading: Reading)
        -> DeliveryPlan
    {
        var plan = base
        lower(&plan, to: limits)
        if let events = draft.batch.events {
            if let most = limits?.events, events > most, let place = node["batch"]?["events"] {
                reading.refuse(place, "at most \(most), the limit of the module")
            }
            plan.batch.events = events
        }
        if let bytes = draft.batch.bytes {
            if let most = limits?.bytes, bytes > most, let place = node["batch"]?["bytes"] {
                reading.refuse(place, "at most \(Quantity.size.text(most)), the limit of the module")
            }
            plan.batch.bytes = bytes
        }
        plan.batch.wait = draft.batch.wait ?? plan.batch.wait

        plan.queue.full = draft.queue.full ?? plan.queue.full
        plan.queue.memory = draft.queue.memory ?? plan.queue.memory
        plan.queue.disk = draft.queue.disk ?? plan.queue.disk
        plan.queue.durability = draft.queue.durability ?? plan.queue.durability
        if plan.queue.disk == nil, let queue = node["queue"] {
            if draft.queue.full == .spill { reading.fault(queue, "'spill' needs 'disk', the most bytes that may wait there") }
            if draft.queue.durability != nil { reading.fault(queue, "'durability' needs 'disk', the most bytes that may wait there") }
        }
        if let disk = draft.queue.disk, disk < plan.batch.bytes, let place = node["queue"]?["disk"] {
            reading.refuse(place, "at least the \(Quantity.size.text(plan.batch.bytes)) of a batch")
        }
        if plan.batch.bytes > plan.queue.memory {
            if draft.batch.bytes != nil, let place = node["batch"]?["bytes"] {
                let isTainted = node["queue"]?["memory"]?.text?.isTainted == true
                reading.refuse(place, "at most the queue's memory" + (isTainted ? "" : " of \(Quantity.size.text(plan.queue.memory))"))
            }
            plan.batch.bytes = plan.queue.memory
        }

        plan.retry.total = draft.retry.total ?? plan.retry.total
        switch (draft.retry.first, draft.retry.most) {
        case (let first?, let most?):
            if first > most, let place = node["retry"]?["first"] { reading.refuse(place, "at most retry.most") }
            (plan.retry.first, plan.retry.most) = (first, most)
        case (let first?, nil): (plan.retry.first, plan.retry.most) = (first, max(first, plan.retry.most))
        case (nil, let most?): (plan.retry.first, plan.retry.most) = (min(plan.retry.first, most), most)
        case (nil, nil): break
        }
        plan.deadLetters = draft.deadLetters ?? plan.deadLetters
        plan.breaker = draft.breaker ?? plan.breaker
        plan.deadline = draft.deadline ?? plan.deadline
        plan.abandon = draft.abandon ?? plan.abandon
        plan.retention = draft.retention ?? plan.retention
        plan.immediate = draft.immediate ?? plan.immediate
        plan.ordered = draft.ordered ?? plan.ordered
        return plan
    }

    static func lower(_ plan: inout DeliveryPlan, to limits: ModuleDescription.Limits?) {
        plan.batch.events = min(plan.batch.events, limits?.events ?? .max)
        plan.batch.bytes = min(plan.batch.bytes, limits?.bytes ?? .max)
        plan.batch.largest = limits?.bytes ?? plan.batch.largest
    }
}

extension DeliveryForm.Draft {
    /// The values of a plan, as defaults that the schema shows.
    fileprivate init(_ plan: DeliveryPlan) {
        batch = Batch(events: plan.batch.events, bytes: plan.batch.bytes, wait: plan.batch.wait)
        queue = Queue(
            memory: plan.queue.memory, disk: plan.queue.disk, durability: plan.queue.durability, full: plan.queue.full)
        retry = Retry(first: plan.retry.first, most: plan.retry.most, total: plan.retry.total)
        deadLetters = plan.deadLetters
        breaker = plan.breaker
        deadline = plan.deadline
        abandon = plan.abandon
        retention = plan.retention
        immediate = plan.immediate
        ordered = plan.ordered
    }
}
