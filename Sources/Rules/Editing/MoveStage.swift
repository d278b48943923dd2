// Moves one member to another place, for `rename` and `move`. A value that is there is overwritten. Missing objects on the path are made.

internal import Events
internal import Redaction

final class MoveStage: Stage {
    private let from: MemberPath
    private let to: MemberPath
    /// True if both paths are in the same object. Then only the key changes.
    private let isRename: Bool

    /// Returns the rules that move the members. Each move is a stage, because it may name a member that the preceding one has moved.
    static func rules(_ moves: [(from: Path, to: Path)]) -> [StageRule] {
        moves.map { from, to in
            let paths = PathTrie([from, to])
            return StageRule(paths) { MoveStage(paths, from: from, to: to) }
        }
    }

    private init(_ paths: PathTrie, from: Path, to: Path) {
        self.from = MemberPath(from, in: paths)
        self.to = MemberPath(to, in: paths)
        isRename = from.keys.dropLast() == to.keys.dropLast()
        super.init(paths)
    }

    override func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome {
        let source = event.slot(from)
        guard source.isPresent, from.slot != to.slot else { return .unchanged }
        replacements.removeAll()
        if isRename, !event.slot(to).isPresent {
            rename(source, event)
            return .changed
        }
        let place = Place(to, event, leaving: from)
        let removal = event.removal(of: source)
        // If the replaced bytes contain the source, it is removed with them.
        let isInside = Int(source.key) >= place.start && Int(source.end) <= place.end
        if !isInside, removal.start < place.start { take(removal) }
        place.put({ $0.put(event.block + Int(source.start), Int(source.end - source.start)) }, at: to, in: &replacements)
        if !isInside, removal.start >= place.start { take(removal) }
        return .changed
    }

    private func take(_ removal: (start: Int, end: Int)) {
        let begun = replacements.textEnd
        replacements.append(removal.start, removal.end, textSince: begun)
    }

    private func rename(_ source: Slot, _ event: ScannedEvent) {
        let begun = replacements.textEnd
        let key = to.keys[to.keys.count - 1].dropLast()
        key.withUnsafeBufferPointer { replacements.put($0.baseAddress!, $0.count) }
        let end = stringEnd(event.block + Int(source.key)) - event.block
        replacements.append(Int(source.key), end, textSince: begun)
    }
}
