// The protocol of the targets, the target of the scanner, and the oracle for JSON objects. A target makes one input after the other and
// judges the result of each.

import COracle
import Events

protocol Fuzzer {
    mutating func next() -> (Comparison, input: [UInt8])
    /// True if a target with a fixed number of inputs has made all of them.
    var isDone: Bool { get }
}

extension Fuzzer {
    var isDone: Bool { false }
}

/// All ways of scanning and simdjson's DOM must agree on every line, or the difference must be explained.
final class ScannerFuzzer: Fuzzer {
    private var mutator: Mutator
    private var comparer: Comparer

    init(seed: UInt64, plants: Bool) throws(PathFault) {
        mutator = Mutator(seed: seed)
        comparer = try Comparer(plants: plants)
    }

    func next() -> (Comparison, input: [UInt8]) {
        let line = mutator.line()
        return (comparer.compare(line), line)
    }
}

/// Says whether simdjson accepts a text as one JSON object.
final class ObjectOracle {
    private let oracle = oracle_new()
    deinit { oracle_free(oracle) }

    func isObject(_ text: [UInt8]) -> Bool {
        var padded = text + [UInt8](repeating: 0, count: Block.padding)
        return padded.withUnsafeMutableBufferPointer { oracle_judge(oracle, $0.baseAddress!, text.count) == ORACLE_OBJECT }
    }
}
