// What the tests of several modules ask of the files that a router leaves.

import Spool

/// Every dead letter in the file, as `switchyard dead-letters` prints it; none when there is no file.
public func deadLetters(in file: String) -> [String] {
    guard let opened = try? DeadLetterFile(file, makes: false) else { return [] }
    var all: [DeadLetter] = []
    // They come in parts of some megabytes.
    while let more = try? opened.letters(DeadLetterFile.Choice(), after: all.last?.id ?? 0, most: 1_000_000), !more.isEmpty { all += more }
    return all.map(\.json)
}
