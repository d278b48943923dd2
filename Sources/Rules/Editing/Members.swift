// Removes members from an event and inserts them, as replacements of its bytes.

internal import Events
internal import Redaction

/// The path of a member: the slots and keys of the objects that contain it, and its own.
struct MemberPath {
    /// The slots from the whole event to the member.
    let slots: [Int]
    /// The key of each step of the path, in quotes, with its colon.
    let keys: [[UInt8]]

    init(_ path: Path, in paths: PathTrie) {
        slots = [PathTrie.root] + path.keys.indices.map { paths.slot(of: Path(keys: Array(path.keys[...$0])))! }
        keys = path.keys.map { Constant.member(Array($0.utf8)) }
    }

    var slot: Int { slots[slots.count - 1] }
}

extension ScannedEvent {
    func slot(_ path: MemberPath) -> Slot { slots[path.slot] }

    /// Returns the range of bytes to remove with a member. It ends at the next member, or it begins at the comma before a last member.
    func removal(of slot: Slot) -> (start: Int, end: Int) {
        let behind = skipSpace(block + Int(slot.end))
        if behind[0] == UInt8(ascii: ",") { return (Int(slot.key), skipSpace(behind + 1) - block) }
        var before = Int(slot.key) - 1
        while block[before] <= 0x20 { before -= 1 }
        return (block[before] == UInt8(ascii: ",") ? before : Int(slot.key), Int(slot.end))
    }
}

/// The place where a value can be inserted. It is determined before anything is changed.
struct Place {
    /// The start of the bytes that the new text replaces. For an added member, the range is empty and is at the end of its object.
    let start: Int
    let end: Int
    /// The number of steps of the path that are present. The others are made.
    private let known: Int
    private let needsComma: Bool
    private let isAdded: Bool

    /// `leaving` is a member that is removed at the same time.
    init(_ path: MemberPath, _ event: ScannedEvent, leaving: MemberPath? = nil) {
        var known = 0
        while known + 1 < path.slots.count, event.slots[path.slots[known + 1]].isPresent, event.isObject(path.slots[known]) { known += 1 }
        self.known = known
        let slot = event.slots[path.slots[known]]
        if known + 1 == path.slots.count || !event.isObject(path.slots[known]) {
            // Replace the member, or the value that is in the place of an object.
            (start, end, needsComma, isAdded) = (Int(slot.start), Int(slot.end), false, false)
            return
        }
        var tail = Int(slot.end) - 1
        while event.block[tail - 1] <= 0x20 { tail -= 1 }
        let isLeft = leaving.map { $0.slots[$0.slots.count - 2] == path.slots[known] && event.slot($0).isPresent } ?? false
        (start, end, needsComma, isAdded) = (tail, tail, Int(slot.members) - (isLeft ? 1 : 0) > 0, true)
    }

    /// Writes the value and the objects that must be made around it.
    func put(_ value: (inout Replacements) -> Void, at path: MemberPath, in replacements: inout Replacements) {
        let begun = replacements.textEnd
        if needsComma { replacements.put(UInt8(ascii: ",")) }
        for step in known..<path.keys.count {
            if step > known || !isAdded { replacements.put(UInt8(ascii: "{")) }
            path.keys[step].withUnsafeBufferPointer { replacements.put($0.baseAddress!, $0.count) }
        }
        value(&replacements)
        let objects = path.keys.count - known - (isAdded ? 1 : 0)
        for _ in 0..<max(0, objects) { replacements.put(UInt8(ascii: "}")) }
        replacements.append(start, end, textSince: begun)
    }
}

extension ScannedEvent {
    func isObject(_ slot: Int) -> Bool { block[Int(slots[slot].start)] == UInt8(ascii: "{") }
}
