// Scans one line for the tests of `scrub` and `mask`, applies the changes, and returns the result.

import Events

@testable import Redaction

/// The result of scrubbing an event.
struct Outcome: Equatable {
    var line: String
    var found: SensitiveSet
}

func scrubbed(_ line: String, _ scrub: Scrub = Scrub(), in paths: [String] = [], sparing: String = "") throws -> Outcome {
    try withEvent(line, paths + (sparing.isEmpty ? [] : [sparing])) { event, slots in
        var scrubber = Scrubber(scrub)
        let looked = UnsafeBufferPointer(rebasing: slots.prefix(paths.count))
        let isFound = scrubber.scrub(event, in: looked, sparing: sparing.isEmpty ? 0 : slots[paths.count])
        precondition(isFound == !scrubber.found.isEmpty)
        return Outcome(line: written(event, scrubber.replacements), found: scrubber.found)
    }
}

/// Calls `use` with the scanned line and the slots of some paths.
func withEvent<Result>(
    _ line: String, _ texts: [String], _ use: (ScannedEvent, UnsafeBufferPointer<Int>) throws -> Result
) throws -> Result {
    let paths = try texts.map { text throws(PathFault) in try Path(parsing: text) }
    let trie = PathTrie(paths)
    var scanner = Scanner(trie)
    var block = Block()
    block.text.append(line)
    block.seal()
    guard let event = scanner.scan(block.bytes, 0) else { throw NoEvent(line: line, why: scanner.fault.message) }
    return try paths.map { trie.slot(of: $0)! }.withUnsafeBufferPointer { try use(event, $0) }
}

func written(_ event: ScannedEvent, _ replacements: borrowing Replacements) -> String {
    var out = ByteBuffer()
    replacements.write(event.block, start: event.start, end: event.end, to: &out)
    precondition(out.count == Int(event.end - event.start) + replacements.growth)
    return String(decoding: out.bytes, as: UTF8.self)
}

struct NoEvent: Error {
    var line: String
    var why: String
}
