// Fuzzes one line of a program's standard output. The line is refused, or it is a JSON object.

@testable import Exec

struct AnswerFuzzer: Fuzzer {
    private var mutator: Mutator
    private let plants: Bool
    private let oracle = ObjectOracle()

    init(seed: UInt64, plants: Bool) {
        mutator = Mutator(seed: seed, seeds: AnswerFuzzer.seeds)
        self.plants = plants
    }

    private static let seeds = [
        #"{"outcome":"delivered"}"#, #"{"outcome": "rejected", "code": 422, "message": "no such user"}"#,
        #"{"outcome":"retry","retry_after_ms":1500,"message":"later\n\u001b[2J"}"#, #"{"outcome":"unknown","code":-1}"#,
        #"{"outcome":"fault","message":"\u00e9\ud83d\ude97"}"#, #"{"outcome":"closed"}"#, #"{"outcome":"retry","retry_after_ms":-1}"#,
    ].map { Array($0.utf8) }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let line = mutator.line()
        return (judge(line), line)
    }

    private func judge(_ line: [UInt8]) -> Comparison {
        let isRead = line.withUnsafeBytes { Answer($0) } != nil
        let isPlanted = plants && line.count % 31 == 30
        guard isRead || isPlanted else { return .invalid }
        return oracle.isObject(line) ? .valid : .unexplained("it was accepted, but is not an object for simdjson")
    }
}
