// Helpers for the text of messages: lists, quoted names, escapes, and suggestions for misspelt words.

public enum Words {
    /// Returns "a, b or c" for the joiner "or". A long list is cut.
    public static func list(_ words: [String], joiner: String, most: Int = 24) -> String {
        guard words.count <= most else {
            return words.prefix(most).joined(separator: ", ") + " \(joiner) \(words.count - most) more"
        }
        guard words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " \(joiner) " + words.last!
    }

    public static func either(_ words: [String]) -> String { list(words, joiner: "or") }
    public static func all(_ words: [String]) -> String { list(words, joiner: "and") }

    /// Returns the name as messages quote it.
    public static func quoted(_ name: String) -> String { "'\(shortened(name, 60))'" }

    /// Returns the first clause of an explanation, for use inside another sentence.
    public static func gist(_ about: String) -> String {
        var end = about.endIndex
        for index in about.indices where about[index] == "." || about[index] == ";" {
            let next = about.index(after: index)
            guard next == about.endIndex || about[next] == " " else { continue }
            end = index
            break
        }
        let sentence = about[..<end]
        return sentence.prefix(1).lowercased() + sentence.dropFirst()
    }

    public static func shortened(_ text: String, _ most: Int) -> String {
        assert(most >= 1, "no place is left for the mark of a cut")
        return text.utf8.count <= most ? text : String(text.prefix(most - 1)) + "…"
    }

    /// Returns one line that a terminal shows as it is. Characters that control a terminal or the direction of text become escapes.
    public static func visible(_ text: String) -> String {
        // To ask the library for the category of a character takes long, and most texts have only printable characters of ASCII.
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                shown.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            default: shown.append(scalar)
            }
        }
        return String(shown)
    }

    /// Returns the choice that was probably meant, or nil if none is near.
    public static func nearest(_ word: String, among choices: [String]) -> String? {
        guard word.utf8.count <= 64, choices.count <= 1000 else { return nil }
        let letters = Array(word.lowercased())
        var best: (choice: String, distance: Int)?
        for choice in choices where choice.utf8.count <= 64 {
            let other = Array(choice.lowercased())
            let shorter = min(letters.count, other.count)
            // One error is allowed for each three letters, and at least one. A word of one letter must be equal.
            let most = shorter == 1 ? 0 : max(1, shorter / 3)
            let distance = distance(letters, other)
            if distance <= most, distance < best?.distance ?? .max { best = (choice, distance) }
        }
        return best?.choice
    }

    /// Returns how many letters must be added, removed, replaced or swapped with their neighbour to turn one word into the other.
    public static func distance(_ a: [Character], _ b: [Character]) -> Int {
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            for j in b.indices {
                var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, beforeLast[j - 1] + 1) }
                row.append(least)
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }
}
