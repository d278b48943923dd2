// What the tests of several modules ask of the files that a router leaves.

import Spool

/// Every dead letter in the file, as `switchyard dead-letters` prints it; none when there is no file.
public func deadLetters(in file: String) -> [String] {
    let opened = try? DeadLetterFile(file, makes: false)
    return ((try? opened?.letters(DeadLetterFile.Choice(), most: 1_000_000)) ?? []).map(\.json)
}
