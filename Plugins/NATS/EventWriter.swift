// Gives the events of a batch to a connection, each with its subject, its id and its reply. It belongs to the thread of the publisher.

internal import CNATS
internal import Events
internal import PluginKit
internal import StreamKit

final class EventWriter {
    private unowned let publisher: Publisher
    private let connection: Connection
    private var names: SubjectNames
    /// The inbox, a dot, and the token of an event.
    private var reply = ByteBuffer(capacity: 200)
    private let prefix: Int

    var origin: String { connection.server.origin }

    init(_ publisher: Publisher, _ connection: Connection) {
        self.publisher = publisher
        self.connection = connection
        names = SubjectNames(publisher.rules)
        reply.append(connection.inbox + ".")
        prefix = reply.count
    }

    /// Gives all events of the batch to the connection. If the connection fails, the events that have not left are to be retried.
    func write(_ batch: PendingBatch) {
        names.begin(batch.lines)
        var next = 0
        while next < batch.lines.count {
            let end = min(batch.lines.count, next + Publisher.asked)
            guard batch.mayBegin(next..<end) else { return publisher.state.withLock { _ in batch.settleRest(next: next, .untried) } }
            // From here on an answer for one of them counts.
            publisher.state.withLock { _ in batch.handed = end }
            while next < end {
                if let outcome = write(next, of: batch) {
                    guard case .retry = outcome else {
                        publisher.state.withLock { _ in batch.settle(next, outcome) }
                        next += 1
                        continue
                    }
                    return publisher.state.withLock { _ in
                        batch.handed = next
                        batch.settleRest(next: next, outcome)
                    }
                }
                next += 1
            }
        }
    }

    /// Returns nil if the connection has the event, or else the outcome of the event.
    private func write(_ event: Int, of batch: PendingBatch) -> Outcome? {
        guard names.read(event) else { return .rejected("the event cannot be read: \(names.fault)") }
        reply.truncate(to: prefix)
        ReplyToken.append(batch: batch.number, event: event, to: &reply)
        reply.append(0)
        let line = batch.lines.text(of: event)
        let status = names.withTexts { subject, id in
            reply.base.withMemoryRebound(to: CChar.self, capacity: reply.count) { reply in
                cnats_publish(
                    connection.handle, subject, reply, id, publisher.rules.stream, line.assumingMemoryBound(to: CChar.self).baseAddress,
                    Int32(clamping: line.count))
            }
        }
        switch status {
        case CNATS_OK: return nil
        case CNATS_TOO_LARGE: return .rejected("the event is larger than the server accepts (max_payload)")
        case CNATS_NO_MEMORY: return .retry("libnats has no memory")
        case CNATS_CLOSED: return .retry("the connection to \(origin) has ended")
        default: return .retry("libnats does not take the event (\(status.rawValue))")
        }
    }
}

extension PendingBatch {
    /// Gives every open event from this one on the outcome. Those before it wait for their answers.
    func settleRest(next: Int, _ outcome: Outcome) { for event in next..<lines.count { settle(event, outcome) } }

    /// Gives the handed events on these subjects the outcome that the server does not permit them.
    func settle(on subjects: [String], _ names: SubjectNames, origin: String) {
        names.begin(lines)
        for event in 0..<handed where outcomes.isOpen(event) {
            guard names.read(event) else { continue }
            let subject = names.subject
            guard let known = subjects.first(where: { subject == $0 || $0.utf8.count > 150 && subject.hasPrefix($0) }) else { continue }
            settle(event, .fault("\(origin) does not permit the user to publish to '\(printable(known))'"))
        }
    }
}

/// The subject and the id of one event after another.
final class SubjectNames {
    private let rules: NATSRules
    private var reader: MemberReader
    private var subjectBytes = ByteBuffer(capacity: 500)
    private var id = ByteBuffer(capacity: 100)
    private var raw = ByteBuffer(capacity: 100)
    private var hasID = false

    init(_ rules: NATSRules) {
        self.rules = rules
        reader = MemberReader(rules.members)
    }

    func begin(_ lines: Lines) { reader.begin(lines) }
    var fault: String { reader.fault }

    /// Reads an event of the batch. Returns false if it is not valid JSON.
    func read(_ index: Int) -> Bool {
        guard let event = reader.event(index) else { return false }
        subjectBytes.removeAll()
        rules.subject.append(event, to: &subjectBytes)
        subjectBytes.append(0)
        raw.removeAll()
        hasID = event.append(rules.id, to: &raw) && !raw.isEmpty
        id.removeAll()
        if hasID { HeaderText.append(raw.bytes, to: &id) }
        id.append(0)
        return true
    }

    var subject: String { String(decoding: subjectBytes.bytes.dropLast(), as: UTF8.self) }
    /// The id as the header holds it, or nil if the event has none.
    var messageID: String? { hasID ? String(decoding: id.bytes.dropLast(), as: UTF8.self) : nil }

    func withTexts<R>(_ body: (UnsafePointer<CChar>, UnsafePointer<CChar>?) -> R) -> R {
        subjectBytes.base.withMemoryRebound(to: CChar.self, capacity: subjectBytes.count) { subject in
            id.base.withMemoryRebound(to: CChar.self, capacity: id.count) { id in body(subject, hasID ? id : nil) }
        }
    }
}

/// A value of a header. Bytes that are no visible ASCII, and the percent sign, are written as %0A and the like, so that an event can neither
/// add a header nor have the same id as another one.
enum HeaderText {
    private static let digits = Array("0123456789ABCDEF".utf8)

    static func append(_ text: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
        for byte in text {
            if byte > 0x20, byte < 0x7f, byte != UInt8(ascii: "%") {
                buffer.append(byte)
            } else {
                buffer.append(UInt8(ascii: "%"))
                buffer.append(digits[Int(byte >> 4)])
                buffer.append(digits[Int(byte & 15)])
            }
        }
    }
}

/// What a reply ends with: the number of the batch and the index of the event, such as "12-3".
enum ReplyToken {
    static func append(batch: UInt64, event: Int, to buffer: inout ByteBuffer) {
        append(batch, to: &buffer)
        buffer.append(UInt8(ascii: "-"))
        append(UInt64(event), to: &buffer)
    }

    private static func append(_ number: UInt64, to buffer: inout ByteBuffer) {
        let start = buffer.count
        var rest = number
        repeat {
            buffer.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        var digits = UnsafeMutableBufferPointer(start: buffer.base + start, count: buffer.count - start)
        digits.reverse()
    }

    /// Returns nil for anything that `append` does not write.
    static func read(_ token: UnsafeRawBufferPointer) -> (batch: UInt64, event: Int)? {
        guard token.count <= 40, let hyphen = token.firstIndex(of: UInt8(ascii: "-")), let batch = decimal(token[..<hyphen]),
            let event = decimal(token[(hyphen + 1)...])
        else { return nil }
        return (batch, Int(clamping: event))
    }
}
