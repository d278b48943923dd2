// A provider is down for seven days, and the router is killed twice. Afterwards every event is delivered, including the first one.

import Plans
import Platform
import Queueing

func playWeek() -> (breach: String?, words: String) {
    var setup = Setup()
    setup.kind = .durable
    setup.plan.queue.disk = 1 << 40
    setup.plan.queue.memory = 4000
    setup.plan.batch.events = 10
    setup.plan.batch.bytes = 1000
    setup.plan.ordered = true
    setup.plan.retry.total = .seconds(30 * 86_400)
    setup.events = 2000
    setup.pause = 600_000
    let week: Int64 = 7 * 86_400_000
    setup.conditions = [(0, .down)]
    setup.kills = [86_400_000, 3 * 86_400_000]
    setup.healed = week
    let world = World(setup, random: RandomSource(seed: 7), plant: nil, tells: false)
    do {
        try world.play()
    } catch let breach as Breach {
        return (breach.words, "")
    } catch {
        return ("\(error)", "")
    }
    let delivered = world.events.filter { $0.fate == .delivered || $0.isGone }.count
    guard world.events[0].fate == .delivered, delivered == world.events.count else {
        return ("\(delivered) of \(world.events.count) events were delivered", "")
    }
    return (nil, "every event was delivered, including the first one, in \(world.steps) steps")
}
