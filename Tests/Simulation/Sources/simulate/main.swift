// Plays lanes on a clock of its own, by seeds: `simulate [--seeds N] [--first SEED] [--jobs N] [--seed SEED] [--plant NAME]`.
// A seed that fails is told with the command that plays it again, step by step.

import Configuration
import Glibc
import Platform

@testable import Delivery

func usage() -> Never {
    print(
        "usage: simulate [--seeds N] [--first SEED] [--jobs N] [--seed SEED] [--plant \(Plant.allCases.map(\.rawValue).joined(separator: "|"))]")
    exit(64)
}

struct Options {
    var seeds: UInt64 = 1000
    var first: UInt64 = 1
    var jobs = 1
    var only: UInt64?
    var plant: Plant?
}

var words = Array(CommandLine.arguments.dropFirst())
var parsed = Options()
while !words.isEmpty {
    let option = words.removeFirst()
    guard !words.isEmpty else { usage() }
    let value = words.removeFirst()
    switch option {
    case "--seeds": parsed.seeds = UInt64(value) ?? parsed.seeds
    case "--first": parsed.first = UInt64(value) ?? parsed.first
    case "--jobs": parsed.jobs = max(1, Int(value) ?? 1)
    case "--seed": parsed.only = UInt64(value)
    case "--plant":
        guard let plant = Plant(rawValue: value) else { usage() }
        parsed.plant = plant
    default: usage()
    }
}
let options = parsed

/// What broke, if anything.
func play(_ seed: UInt64, plant: Plant?, tells: Bool) -> (breach: String?, lives: Int) {
    var chance = Chance(seed: seed)
    let setup = Setup(&chance)
    if tells { print(setup.description) }
    let world = World(setup, chance: chance, plant: plant, tells: tells)
    do {
        try world.play()
        return (nil, world.lives)
    } catch let breach as Breach {
        return (breach.words, world.lives)
    } catch {
        return ("\(error)", world.lives)
    }
}

if let seed = options.only {
    let (breach, _) = play(seed, plant: options.plant, tells: true)
    print(breach.map { "seed \(seed): \($0)" } ?? "seed \(seed): nothing wrong")
    exit(breach == nil ? 0 : 1)
}

if options.plant == nil {
    let week = playWeek()
    guard week.breach == nil else {
        print("a week's outage: \(week.breach!)")
        exit(1)
    }
    print("a week's outage: \(week.words)")
}

struct Tally {
    var next: UInt64
    var lives = 0
    var failed: [(seed: UInt64, words: String)] = []
    var running: Int
}
let tally = Monitor(Tally(next: options.first, running: options.jobs))
let began = Clock.system.now()
for _ in 0..<options.jobs {
    Thread.start("player") {
        while true {
            let seed: UInt64? = tally.withLock { tally in
                guard tally.next < options.first + options.seeds, tally.failed.count < 10 else { return nil }
                defer { tally.next += 1 }
                return tally.next
            }
            guard let seed else { break }
            let (breach, lives) = play(seed, plant: options.plant, tells: false)
            tally.withLock { tally in
                tally.lives += lives
                if let breach { tally.failed.append((seed, breach)) }
            }
        }
        tally.withLock { $0.running -= 1 }
        tally.wake()
    }.detach()
}
tally.wait(while: { $0.running > 0 })

let plant = options.plant.map { " --plant \($0.rawValue)" } ?? ""
let result = tally.withLock { $0 }
for (seed, words) in result.failed.sorted(by: { $0.seed < $1.seed }) {
    print("seed \(seed): \(words)\n    again: make simulate ARGS=\"--seed \(seed)\(plant)\"")
}
let seconds = (Clock.system.now() - began).nanoseconds / 1_000_000_000
print("\(result.next - options.first) seeds, \(result.lives) lives, \(seconds) s: \(result.failed.isEmpty ? "nothing wrong" : "FAILED")")
exit(result.failed.isEmpty ? 0 : 1)
