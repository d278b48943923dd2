// Simulates the promise of consent by seeds: events of a few people, their decisions, withdrawals, faults, reloads, kills and restarts.
// Each seed runs on one simulated clock and one thread. It uses the router's own gate, ledger, lanes, spools and dead letters, and compares
// them with a slow model of the promise.

import Platform
import Seeds

@testable import Delivery
@testable import Queueing

let options = SeedOptions(program: "promise", plants: Plant.allCases.map(\.rawValue))

playSeeds(options, again: "--consent ") { seed, tells in
    var random = RandomSource(seed: seed)
    let scenario = Scenario(&random)
    if tells { print(scenario.description) }
    do {
        let world = try World(scenario, seed: seed, random: random, plant: options.plant.flatMap(Plant.init), tells: tells)
        do {
            try world.play()
            return Played(breach: nil, lives: world.lives)
        } catch let breach as Breach {
            return Played(breach: breach.words, lives: world.lives)
        } catch {
            return Played(breach: "\(error)", lives: world.lives)
        }
    } catch {
        return Played(breach: "\(error)", lives: 0)
    }
}
