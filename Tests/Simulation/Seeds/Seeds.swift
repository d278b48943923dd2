// Runs a simulation for many seeds on several threads: `[--seeds N] [--first SEED] [--jobs N] [--seed SEED] [--plant NAME]`. For each seed
// that fails it prints a command, which repeats that seed and prints each step.

internal import Glibc
internal import Platform

public struct SeedOptions: Sendable {
    public var seeds: UInt64 = 1000
    public var first: UInt64 = 1
    public var jobs = 1
    /// If it is set, only this seed runs, and each step is printed.
    public var only: UInt64?
    /// The name of the planted bug.
    public var plant: String?

    /// Reads the command line. Ends the program with 64 if an option is unknown or has no value.
    public init(program: String, plants: [String]) {
        var words = Array(CommandLine.arguments.dropFirst())
        while !words.isEmpty {
            let option = words.removeFirst()
            guard !words.isEmpty else { SeedOptions.usage(program, plants) }
            let value = words.removeFirst()
            switch option {
            case "--seeds": seeds = UInt64(value) ?? seeds
            case "--first": first = UInt64(value) ?? first
            case "--jobs": jobs = max(1, Int(value) ?? 1)
            case "--seed": only = UInt64(value)
            case "--plant" where plants.contains(value): plant = value
            default: SeedOptions.usage(program, plants)
            }
        }
    }

    private static func usage(_ program: String, _ plants: [String]) -> Never {
        print(
            "usage: \(program) [--seeds N] [--first SEED] [--jobs N] [--seed SEED] [--plant \(plants.joined(separator: "|"))]"
        )
        exit(64)
    }
}

/// The result of a seed: the breach, if any, and the number of lives of the router.
public struct Played: Sendable {
    public var breach: String?
    public var lives: Int
    public init(breach: String?, lives: Int) {
        self.breach = breach
        self.lives = lives
    }
}

private struct Tally {
    var next: UInt64
    var lives = 0
    var failed: [(seed: UInt64, words: String)] = []
    var running: Int
}

/// Runs all seeds, prints the result and ends the program, with 1 if a seed failed. `again` holds the options that the printed command
/// needs before `--seed`.
public func playSeeds(
    _ options: SeedOptions, again: String, _ play: @escaping @Sendable (_ seed: UInt64, _ tells: Bool) -> Played
) -> Never {
    if let seed = options.only {
        let breach = play(seed, true).breach
        print("seed \(seed): \(breach ?? "nothing wrong")")
        exit(breach == nil ? 0 : 1)
    }
    let tally = Monitor(Tally(next: options.first, running: options.jobs))
    let began = Clock.system.now()
    for _ in 0..<options.jobs {
        Thread.start("player") {
            while let seed = tally.withLock({ $0.deal(options) }) {
                let played = play(seed, false)
                tally.withLock { tally in
                    tally.lives += played.lives
                    if let breach = played.breach { tally.failed.append((seed, breach)) }
                }
            }
            tally.withLock { $0.running -= 1 }
            tally.wake()
        }.detach()
    }
    tally.wait(while: { $0.running > 0 })

    let plant = options.plant.map { " --plant \($0)" } ?? ""
    let result = tally.withLock { $0 }
    for (seed, words) in result.failed.sorted(by: { $0.seed < $1.seed }) {
        print("seed \(seed): \(words)\n    again: make simulate ARGS=\"\(again)--seed \(seed)\(plant)\"")
    }
    let seconds = (Clock.system.now() - began).nanoseconds / 1_000_000_000
    let verdict = result.failed.isEmpty ? "nothing wrong" : "FAILED"
    print("\(result.next - options.first) seeds, \(result.lives) lives, \(seconds) s: \(verdict)")
    exit(result.failed.isEmpty ? 0 : 1)
}

extension Tally {
    /// Returns the next seed. Returns nil if all seeds are dealt or enough have failed.
    fileprivate mutating func deal(_ options: SeedOptions) -> UInt64? {
        guard next < options.first + options.seeds, failed.count < (options.plant == nil ? 10 : 1) else { return nil }
        defer { next += 1 }
        return next
    }
}
