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

    func isObject(_ text: [UInt8]) -> Bool { judge(text, text.count) == ORACLE_OBJECT }

    private func judge(_ text: [UInt8], _ count: Int) -> oracle_verdict {
        var padded = text + [UInt8](repeating: 0, count: Block.padding)
        return padded.withUnsafeMutableBufferPointer { oracle_judge(oracle, $0.baseAddress!, count) }
    }

    // simdjson reads no number that no double holds, and nothing that nests deeper than 1024 levels. Many servers do not either.
    static let bigNumber = "a number that no double holds"
    static let tooDeep = "a nesting that simdjson does not read"

    /// Says why simdjson does not read a text as one JSON object, or returns nil.
    func fault(inObject text: UnsafeRawBufferPointer) -> String? { fault(in: Array(text)) }

    /// Says why simdjson does not read a text as one JSON list, or returns nil. In an object the list is the only member.
    func fault(inList text: UnsafeRawBufferPointer) -> String? {
        guard text.first == UInt8(ascii: "[") else { return "the body is no list" }
        return fault(in: Array("{\"list\":".utf8) + text + [UInt8(ascii: "}")])
    }

    private func fault(in text: [UInt8]) -> String? {
        switch judge(text, text.count) {
        case ORACLE_OBJECT: nil
        case ORACLE_BAD_NUMBER: ObjectOracle.bigNumber
        case ORACLE_TOO_DEEP: ObjectOracle.tooDeep
        case ORACLE_BAD_STRING: "the body has a text that is not valid"
        default: "the body is not the JSON that it should be"
        }
    }
}
