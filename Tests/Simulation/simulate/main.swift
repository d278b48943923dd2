// Simulates lanes by seeds, on a simulated clock. First it simulates an outage of a week.

import Glibc
import Platform
import Seeds

@testable import Queueing

let options = SeedOptions(program: "simulate", plants: Plant.allCases.map(\.rawValue))

if options.plant == nil, options.only == nil {
    let week = playWeek()
    guard week.breach == nil else {
        print("a week's outage: \(week.breach!)")
        exit(1)
    }
    print("a week's outage: \(week.words)")
}

playSeeds(options, again: "") { seed, tells in
    var random = RandomSource(seed: seed)
    let setup = Setup(&random)
    if tells { print(setup.description) }
    let world = World(setup, random: random, plant: options.plant.flatMap(Plant.init), tells: tells)
    do {
        try world.play()
        return Played(breach: nil, lives: world.lives)
    } catch let breach as Breach {
        return Played(breach: breach.words, lives: world.lives)
    } catch {
        return Played(breach: "\(error)", lives: world.lives)
    }
}
