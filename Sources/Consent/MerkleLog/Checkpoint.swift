// Checkpoints (C2SP tlog-checkpoint): the head of a tree as the text of a signed note.

public struct Checkpoint: Sendable, Hashable {
    /// The name of the log.
    public var origin: String
    /// The number of its entries.
    public var size: Int
    public var root: Digest

    public init(origin: String, size: Int, root: Digest) {
        precondition(size >= 0, "a log has a negative number of entries")
        self.origin = origin
        self.size = size
        self.root = root
    }

    /// Reads the text of a note. Returns nil if it is not a checkpoint. Lines after the third one belong to others, and are ignored.
    public init?(text: String) {
        guard text.utf8.last == 0x0a else { return nil }
        let lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 3, lines.allSatisfy({ !$0.isEmpty }), let size = Checkpoint.number(lines[1]),
            let bytes = StrictBase64.decode(Array(lines[2].utf8)), let root = Digest(bytes)
        else { return nil }
        origin = String(lines[0])
        self.size = size
        self.root = root
    }

    /// Returns the number that decimal digits without leading zeros make up.
    static func number(_ text: some StringProtocol) -> Int? {
        guard let number = Int(text), number >= 0, String(number) == text else { return nil }
        return number
    }

    public var text: String { "\(origin)\n\(size)\n\(StrictBase64.encode(root.bytes))\n" }
}
