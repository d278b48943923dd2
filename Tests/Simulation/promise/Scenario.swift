// The values that a seed fixes before the simulation: the plans that the router can use, and the settings of its lanes.

import Plans
import Platform

@testable import Delivery
@testable import Queueing

/// Planted bugs. The simulation must find each of them.
enum Plant: String, CaseIterable {
    /// Lanes hand events over without the second check.
    case unchecked
    /// Lanes hand events over by an answer of the second check that is older than a change of consent.
    case stale
    /// A sweep ignores events that wait for a retry.
    case retries
    /// A new consent before the sweep ends releases the withdrawn events.
    case revive
    /// A start does not continue the withdrawals of an earlier run.
    case resume
    /// A withdrawal is acknowledged before the ledger has it.
    case early
    /// A withdrawal ignores dead letters.
    case letters
    /// A withdrawal does not wait for blocks that were read and not yet handed over.
    case settle
    /// An event that keeps a field waits with the level of its route, and not with the level of the field.
    case fields
    /// A provider lets events leave although the answer to its question was no.
    case asks
    /// A withdrawal ignores the queues that have no provider.
    case strays
    /// A withdrawal ignores files that were set aside as damaged.
    case aside
    /// A start forgets the withdrawals that are finished, so that events that come back later are revived by a new consent.
    case forgets
    /// Receipts do not count what was destroyed before a kill.
    case uncounted
    /// A block that was judged before an earlier line of the stream has changed the ledger is not judged again.
    case order
    /// The withdrawals that come in the stream are recorded, and events from before them are not kept back.
    case adopt
    /// A withdrawal ignores held events.
    case held
    /// The answers of subjects do not reach the held events.
    case answers
    /// Held events are released in the wrong order.
    case turn
    /// A withdrawal does not wait for released events that a lane has no room for.
    case underway
    /// The withdrawals of an import are recorded, and events from before them are not kept back.
    case imports
    /// A start takes a damaged ledger for a new one, without a word.
    case damage
    /// The gate misses opt-outs in a section of a GPP string.
    case sections
    /// The gate takes an id that cannot be used for a missing one.
    case subjects
    /// The gate does not hear Global Privacy Control and members of one's own.
    case signals
    /// A lane does not learn what its damaged queue has lost.
    case losses

    /// With these the lanes do not refuse what they should. The hand-over is to show that, and not the counts.
    static let forHandOver: Set<Plant> = [.unchecked, .asks, .revive, .forgets, .adopt, .imports]
}

/// The demands of a route, and the lanes of its events.
struct Demand: Hashable {
    var level = 0
    var purposes: [String] = []
    var lanes: [Int]
}

enum Words {
    static let levels = ["none", "essential", "standard", "all"]
    static let purposes = ["operations", "analytics", "marketing"]
    static let lanes = ["far", "near"]
    static let members = ["userId", "anonymousId", "groupId"]
    static let people = (0..<5).map { "u\($0)" } + ["5"]

    /// Each level has one purpose more than the one below it.
    static func purposes(of level: Int) -> Set<String> { Set(purposes.prefix(level)) }
}

/// One version of routes.json.
struct Variation: Hashable {
    /// The level that is assumed for unknown subjects. It is nil if they are denied or held.
    var assumed: Int?
    /// True if the events of unknown subjects wait for their answer.
    var holds: Bool
    /// The level that the member `field` demands. Events with a lower level lose the member.
    var field: Int
    var routes: [Demand]

    init(_ random: inout RandomSource, like other: Variation? = nil) {
        func roll(_ sides: UInt64) -> Int { Int(random.next() % sides) }
        assumed = roll(3) == 0 ? 1 + roll(2) : nil
        holds = assumed == nil && roll(3) > 0
        field = roll(UInt64(Words.levels.count))
        routes = (0..<3).map { index in
            let lanes = other?.routes[index].lanes ?? [[0], [1], [0, 1]][roll(3)]
            switch roll(8) {
            case 0: return Demand(lanes: lanes)
            case 1..<4: return Demand(purposes: [Words.purposes[roll(3)]], lanes: lanes)
            case 4: return Demand(level: 1, purposes: [Words.purposes[roll(3)]], lanes: lanes)
            default: return Demand(level: 1 + roll(3), lanes: lanes)
            }
        }
    }

    /// The text of the file.
    func text(_ hold: Scenario.Hold, _ plant: Plant?) -> String {
        let levels = Words.levels.indices.map { level in
            "\"\(Words.levels[level])\":[\(Words.purposes.prefix(level).map { "\"\($0)\"" }.joined(separator: ","))]"
        }
        let unknown = assumed.map { "{\"assume\":\"\(Words.levels[$0])\"}" } ?? (holds ? "\"hold\"" : "\"deny\"")
        let routes = routes.indices.map { index in
            let demand = self.routes[index]
            let purposes = demand.purposes.map { "\"\($0)\"" }.joined(separator: ",")
            let lanes = demand.lanes.map { "\"\(Words.lanes[$0])\"" }.joined(separator: ",")
            let needs = "\"level\":\"\(Words.levels[demand.level])\"" + (demand.purposes.isEmpty ? "" : ",\"purposes\":[\(purposes)]")
            return "{\"name\":\"r\(index)\",\"consent\":{\(needs)},\"to\":[\(lanes)]}"
        }
        return """
            {"keys":{"ids":"0123456789abcdef0123456789abcdef"},"message_id":{"add":false},
             "consent":{"ledger":"ids","levels":{\(levels.joined(separator: ","))},"unknown":\(unknown),"default":"none",
             \(Signals.section(plant))
             "hold":{"for":"\(hold.milliseconds)ms","events":\(hold.events),"subject":{"events":\(hold.ofSubject)}},
             "fields":{"field":"\(Words.levels[field])"},
             "subject":["userId","anonymousId","groupId"]},
             "sources":{"center":{"plugin":"stdin","consent":"write"},"web":{"plugin":"http","listen":"unix:/web"}},
             "providers":{"far":{"plugin":"noop"},"near":{"plugin":"noop"}},
             "routes":[\(routes.joined(separator: ","))]}
            """
    }
}

struct Scenario {
    var variations: [Variation]
    var lanes: [LanePlan]
    /// The number of events, and the percentages of events that the provider rejects and that make a statement for the ledger.
    var events: Int
    var poison: UInt64
    var statements: UInt64
    /// The number of acts beside the events.
    var acts: Int
    var hold: Hold
    /// True if files of waiting events are damaged between lives.
    var hasDamage: Bool

    /// How long an event may wait for an answer, and how many may.
    struct Hold {
        var milliseconds = 86_400_000
        var events = 100_000
        var ofSubject = 1000
        var isBounded: Bool { events < 100_000 }
    }

    struct LanePlan {
        var delivery = DeliveryPlan()
        var concurrency = 1
        var isDurable: Bool { delivery.queue.disk != nil }
    }

    init(_ random: inout RandomSource) {
        func roll(_ sides: UInt64) -> Int { Int(random.next() % sides) }
        variations = [Variation(&random)]
        for _ in 0..<roll(3) { variations.append(Variation(&random, like: variations[0])) }
        lanes = (0..<2).map { _ in
            var lane = LanePlan()
            var plan = lane.delivery
            plan.batch.events = 1 + roll(5)
            plan.batch.bytes = 200 + roll(1000)
            plan.batch.wait = .milliseconds(Int64(roll(2) * roll(400)))
            plan.queue.memory = plan.batch.bytes * (1 + roll(4))
            if roll(4) > 0 { plan.queue.disk = 1 << 30 }
            plan.queue.full = plan.queue.disk != nil && roll(3) == 0 ? .spill : .block
            plan.ordered = roll(2) == 0
            plan.retry.first = .milliseconds(Int64(1 + roll(500)))
            plan.retry.most = .milliseconds(Int64(500 + roll(5000)))
            plan.retry.total = roll(4) == 0 ? .seconds(Int64(1 + roll(20))) : .seconds(100_000)
            if roll(4) == 0 { plan.retention = .milliseconds(Int64(500 + roll(20_000))) }
            plan.breaker = 1 + roll(6)
            plan.deadline = .milliseconds(Int64(500 + roll(5000)))
            plan.abandon = 1000
            lane.delivery = plan
            lane.concurrency = 1 + roll(3)
            return lane
        }
        events = 4 + roll(28)
        poison = UInt64(roll(3) * 10)
        statements = UInt64(roll(3) * 12)
        acts = 3 + roll(14)
        hold = Hold()
        if roll(3) == 0 { hold.milliseconds = 500 + roll(20_000) }
        if roll(4) == 0 { (hold.events, hold.ofSubject) = (1 + roll(10), 1 + roll(5)) }
        hasDamage = roll(3) == 0
    }

    /// True if one of the plans holds events.
    var holds: Bool { variations.contains(where: \.holds) }

    var description: String {
        let lanes = lanes.map { "\($0.delivery.queue), batch \($0.delivery.batch), ordered \($0.delivery.ordered)" }
        return "\(events) events, \(acts) acts, lanes \(lanes)\n\(variations.map { $0.text(hold, nil) }.joined(separator: "\n"))"
    }
}
