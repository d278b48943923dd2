// Runs the operations that compute a member's new value from its old one. Each operation is a `Changing`.

internal import Events
internal import Redaction

/// An operation that changes one value. The value is neither absent nor null.
protocol Changing: AnyObject {
    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome
    /// Called once before the first event, with the stage's fields and the trie that contains them.
    func prepare(_ paths: PathTrie, _ fields: [MemberPath])
}

extension Changing {
    func prepare(_ paths: PathTrie, _ fields: [MemberPath]) {}
}

enum ValueOutcome {
    case unchanged
    /// The new value was written to the replacements.
    case put
    /// The member is dropped.
    case drop
}

final class ChangeStage: Stage {
    private let fields: [MemberPath]
    private let changing: any Changing
    private var order: [(slot: Slot, number: Int)] = []

    /// Returns the rules that change the values of the fields. `reading` lists more paths that the change reads. A field inside another one
    /// is changed by a later stage.
    static func rules(_ fields: [Path], reading: [Path] = [], _ changing: @escaping @Sendable () -> any Changing) -> [StageRule] {
        apart(fields).map { fields in
            let paths = PathTrie(fields + reading)
            return StageRule(paths) { ChangeStage(paths, fields: fields, changing: changing) }
        }
    }

    /// Returns the paths in groups. In a group, no path is inside another.
    private static func apart(_ paths: [Path]) -> [[Path]] {
        var groups: [[Path]] = []
        for path in paths {
            if let i = groups.firstIndex(where: { !$0.contains { $0.isNested(with: path) } }) {
                groups[i].append(path)
            } else {
                groups.append([path])
            }
        }
        return groups
    }

    private init(_ paths: PathTrie, fields: [Path], changing: @Sendable () -> any Changing) {
        self.fields = fields.map { MemberPath($0, in: paths) }
        self.changing = changing()
        self.changing.prepare(paths, self.fields)
        super.init(paths)
    }

    override func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome {
        replacements.removeAll()
        sort(event)
        var run = DropRun()
        for (slot, number) in order {
            let value = slot.value(in: event.block)
            if value.isNull { continue }
            let begun = replacements.textEnd
            switch changing.change(value, slot: fields[number].slot, event: event, into: &replacements) {
            case .unchanged: break
            case .put:
                run.end(&replacements)
                replacements.append(Int(slot.start), Int(slot.end), textSince: begun)
            case .drop: run.add(slot, event: event, replacements: &replacements)
            }
        }
        run.end(&replacements)
        return replacements.isEmpty ? .unchanged : .changed
    }

    /// Fills `order` with the fields that are present, in the order of the event.
    private func sort(_ event: ScannedEvent) {
        order.removeAll(keepingCapacity: true)
        for (number, field) in fields.enumerated() where event.slot(field).isPresent {
            let slot = event.slot(field)
            let i = order.firstIndex { $0.slot.start > slot.start } ?? order.count
            order.insert((slot, number), at: i)
        }
    }
}

/// Adjacent members that are dropped together. The range ends at the next member.
/// If no member follows, it begins at the comma before the run.
private struct DropRun {
    private var range: (start: Int, end: Int)?

    mutating func add(_ slot: Slot, event: ScannedEvent, replacements: inout Replacements) {
        var own = event.removal(of: slot)
        if let before = range {
            guard before.end == Int(slot.key) || before.end > own.start else {
                end(&replacements)
                range = own
                return
            }
            own.start = before.start
            // If the run ends its object, the comma before the run is dropped too.
            if skipSpace(event.block + Int(slot.end))[0] != UInt8(ascii: ",") {
                var at = before.start - 1
                while event.block[at] <= 0x20 { at -= 1 }
                if event.block[at] == UInt8(ascii: ",") { own.start = at }
            }
        }
        range = own
    }

    mutating func end(_ replacements: inout Replacements) {
        guard let range else { return }
        replacements.append(range.start, range.end, textSince: replacements.textEnd)
        self.range = nil
    }
}

extension Path {
    /// Returns true if one path is inside the other or if both are equal.
    func isNested(with other: Path) -> Bool {
        let common = min(keys.count, other.keys.count)
        return Path(keys: Array(keys.prefix(common))) == Path(keys: Array(other.keys.prefix(common)))
    }
}
