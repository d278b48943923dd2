// Invalid files, each with exactly its faults.

import Testing

struct Broken: Sendable, CustomTestStringConvertible {
    var what: String
    var text: String
    /// The faults, without the name of the file.
    var faults: [String]
    init(_ what: String, _ text: String, _ faults: [String]) {
        (self.what, self.text, self.faults) = (what, text, faults)
    }
    var testDescription: String { what }
}

extension Broken {
    static let all = syntax + sections + sources + providers + routes + samples + steps + rules + consent + ledger + placeholders
}
