// Runs consecutive drop, set and hash transforms as one stage, folded into a list of edits.

internal import Events

struct FoldedEdits: @unchecked Sendable {
    let root: Int
    let edits: UnsafeBufferPointer<Edit>
    let growth: UnsafeBufferPointer<Int>
    let digests: UnsafeBufferPointer<DigestRule>
    let editedDigests: Int
    let keys: UnsafeBufferPointer<HMACKey>
    let keepsDigests: Bool
}

final class FoldStage: Stage {
    private let root: Int
    private var editor: Editor

    init(_ paths: PathTrie, _ folded: FoldedEdits) {
        root = folded.root
        editor = Editor(
            edits: folded.edits, growth: folded.growth,
            digests: Digests(folded.digests, keys: folded.keys, editedDigests: folded.editedDigests, keepsDigests: folded.keepsDigests))
        super.init(paths)
    }

    override func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome {
        guard root >= 0 else { return .unchanged }
        out.reserve(Int(event.end - event.start) + editor.growth(root) + Words.slack)
        var writer = EditWriter(block: event.block, out: out.base + out.count, id: .max)
        let first = writer.out
        editor.write(event, root: root, turn: context.turn, to: &writer)
        out.extend(by: writer.out - first)
        return .written
    }
}
