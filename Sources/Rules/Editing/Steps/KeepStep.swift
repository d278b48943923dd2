// `keep`: keeps only the listed members, byte for byte, and the objects that contain them. A containing object is dropped if none of
// its members is kept. A value on the path that is not an object is dropped too.

public import Events
internal import FormReading

public struct KeepStep: Step {
    public var paths: [Path]

    public init(_ paths: [Path]) { self.paths = paths }

    static let declaration = StepDeclaration(
        "keep", "Keeps only these members and the objects that contain them.",
        example: .init(
            #"["event", "properties.price", "context.page.url"]"#,
            event: #"{"event":"a","userId":"u","properties":{"price":1.0,"note":"x"},"context":{"page":{"title":"t"}}}"#,
            result: #"{"event":"a","properties":{"price":1.0}}"#),
        samples: [#"["event","context","$path","$path","$path"]"#],
        form: Forms.list("paths", of: Forms.path).then { paths, _, _ in KeepStep(paths) })

    public func summary(_ shown: (String) -> String) -> String { "keep only \(list(paths, shown))" }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        [MemberEffect(.kept, paths, "not kept")]
    }

    public func code(_ resources: StepResources) -> StepCode {
        let (trie, kept) = (PathTrie(paths), paths)
        return .stages([StageRule(trie) { KeepStage(trie, kept) }])
    }
}

final class KeepStage: Stage {
    private struct Node {
        let slot: Int
        /// True if the whole member is kept.
        let isWhole: Bool
        var children: [Node] = []
    }

    private let root: Node

    init(_ paths: PathTrie, _ kept: [Path]) {
        root = KeepStage.node([], kept: kept, paths: paths)
        super.init(paths)
    }

    private static func node(_ keys: [String], kept: [Path], paths: PathTrie) -> Node {
        let slot = keys.isEmpty ? PathTrie.root : paths.slot(of: Path(keys: keys))!
        if !keys.isEmpty, kept.contains(Path(keys: keys)) { return Node(slot: slot, isWhole: true) }
        var node = Node(slot: slot, isWhole: false)
        for path in kept where path.keys.count > keys.count && path.keys.starts(with: keys) {
            let next = Array(path.keys.prefix(keys.count + 1))
            let child = paths.slot(of: Path(keys: next))!
            if !node.children.contains(where: { $0.slot == child }) { node.children.append(KeepStage.node(next, kept: kept, paths: paths)) }
        }
        return node
    }

    override func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome {
        out.append(UInt8(ascii: "{"))
        _ = write(root, event, to: &out)
        out.append(UInt8(ascii: "}"))
        return .written
    }

    /// Writes the members of the object that are kept, in the order of the event. Returns true if there are any.
    private func write(_ node: Node, _ event: ScannedEvent, to out: inout ByteBuffer) -> Bool {
        guard event.isObject(node.slot) else { return false }
        var isFirst = true
        var after: UInt32 = 0
        while let child = next(node, event: event, after: after) {
            let slot = event.slots[child.slot]
            after = slot.start
            let mark = out.count
            if !isFirst { out.append(UInt8(ascii: ",")) }
            let key = event.block + Int(slot.key)
            if child.isWhole {
                out.append(key, Int(slot.end - slot.key))
            } else {
                out.append(key, Int(slot.start - slot.key))
                out.append(UInt8(ascii: "{"))
                guard write(child, event, to: &out) else {
                    out.truncate(to: mark)
                    continue
                }
                out.append(UInt8(ascii: "}"))
            }
            isFirst = false
        }
        return !isFirst
    }

    /// Returns the child that is next in the event after the offset `after`.
    private func next(_ node: Node, event: ScannedEvent, after: UInt32) -> Node? {
        var next: Node?
        for child in node.children {
            let start = event.slots[child.slot].start
            guard event.slots[child.slot].isPresent, start > after else { continue }
            if let other = next, event.slots[other.slot].start <= start { continue }
            next = child
        }
        return next
    }
}
