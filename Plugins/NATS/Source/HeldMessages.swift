// The messages that a source has got and not acknowledged to the server, as a value: those that wait to be handed over, and those of blocks
// that the router has. It promises that a message is acknowledged only by the end of the block that it was handed over in, and that a
// message which is held is not handed over a second time when the server gives it out again.

internal import PluginKit

/// Where the server takes the acknowledgements of the messages of a block.
struct Replies: Sendable {
    private(set) var identities: [MessageIdentity] = []
    private var texts: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    mutating func append(_ reply: UnsafeRawBufferPointer, _ identity: MessageIdentity) {
        texts.append(contentsOf: reply)
        ends.append(texts.count)
        identities.append(identity)
    }

    subscript(index: Int) -> String { String(decoding: texts[(index == 0 ? 0 : ends[index - 1])..<ends[index]], as: UTF8.self) }
}

struct HeldMessages {
    /// A block has about this many bytes at most, unless one message is longer.
    static let blockBytes = 256 << 10

    private struct Block {
        var lines: SourceBlock
        var replies = Replies()
    }

    private let mostLine: Int
    private let origin: String
    /// The blocks that were not taken yet. The last one is being filled.
    private var waiting: [Block] = []
    /// The blocks that the router has, by their tokens.
    private var open: [UInt64: Replies] = [:]
    private var held: Set<MessageIdentity> = []
    private var lastToken: UInt64 = 0
    /// How many messages came that the server had given out before, and how many of these are held, so that they were left out.
    private(set) var redelivered = 0
    private(set) var repeated = 0

    init(mostLine: Int, origin: String) {
        self.mostLine = mostLine
        self.origin = origin
    }

    var hasWaiting: Bool { !waiting.isEmpty }
    /// True if a block waits to which nothing is added any more.
    var hasFull: Bool { waiting.count > 1 || waiting.first.map { $0.lines.bytes.count >= HeldMessages.blockBytes } ?? false }
    /// The number of messages that are not acknowledged to the server.
    var count: Int { held.count }

    mutating func add(_ message: DeliveredMessage, reply: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer) {
        if message.deliveries > 1 { redelivered += 1 }
        guard held.insert(message.identity).inserted else {
            repeated += 1
            return
        }
        if waiting.last.map({ $0.lines.bytes.count >= HeldMessages.blockBytes }) ?? true {
            lastToken += 1
            waiting.append(Block(lines: SourceBlock(token: lastToken, origin: origin)))
        }
        // Of a line that is too long one byte more is enough to see that.
        let line = UnsafeRawBufferPointer(rebasing: data[..<min(data.count, mostLine + 1)])
        waiting[waiting.count - 1].lines.append(line, number: Int64(clamping: message.identity.sequence))
        waiting[waiting.count - 1].replies.append(reply, message.identity)
    }

    /// Takes the next block out, to hand it over. It counts as taken, since its acknowledgement can come at once.
    mutating func take() -> SourceBlock? {
        guard !waiting.isEmpty else { return nil }
        let block = waiting.removeFirst()
        open[block.lines.token] = block.replies
        return block.lines
    }

    /// The router had no room for the block that was taken last.
    mutating func giveBack(_ block: SourceBlock) {
        guard let replies = open.removeValue(forKey: block.token) else { return }
        waiting.insert(Block(lines: block, replies: replies), at: 0)
    }

    /// The router will never acknowledge the block. The server gives its messages out again.
    mutating func drop(_ token: UInt64) {
        guard let replies = open.removeValue(forKey: token) else { return }
        held.subtract(replies.identities)
    }

    /// Every event of the block has come to its end. Returns where to acknowledge its messages; `acknowledged` follows when that was done.
    mutating func end(_ token: UInt64) -> Replies? { open.removeValue(forKey: token) }

    mutating func acknowledged(_ replies: Replies) { held.subtract(replies.identities) }

    /// The replies of all messages that wait or that the router has, in the order in which the messages came.
    var all: [Replies] { open.sorted { $0.key < $1.key }.map(\.value) + waiting.map(\.replies) }

    /// Forgets everything: the consumer that has given these messages out is gone.
    mutating func forget() {
        (waiting, open, held) = ([], [:], [])
    }
}
