// Reads the dead letters that a router leaves, for the tests of several modules.

import DeadLetterStore

/// Returns every dead letter in the file, as `switchyard dead-letters` prints it. The list is empty if there is no file.
public func deadLetters(in file: String) -> [String] {
    guard let opened = try? DeadLetterFile(file, makes: false) else { return [] }
    var all: [DeadLetter] = []
    // A call returns only some megabytes.
    while let more = try? opened.letters(DeadLetterFile.Choice(), after: all.last?.id ?? 0, most: 1_000_000), !more.isEmpty { all += more }
    return all.map(\.json)
}
