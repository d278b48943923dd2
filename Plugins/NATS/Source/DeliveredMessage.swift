// The reply of a message that a consumer has given out. It says which message it is, and the server takes its acknowledgement there:
//
//     $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.NUMBER.TIME.PENDING
//     $JS.ACK.DOMAIN.ACCOUNT.STREAM.CONSUMER.DELIVERED.SEQUENCE.NUMBER.TIME.PENDING.TOKEN

/// Which message it is. The time tells messages of a stream from those of another one that had the same name before.
struct MessageIdentity: Hashable, Sendable {
    /// The place in the stream.
    let sequence: UInt64
    /// When the stream has got it, in nanoseconds since 1970.
    let time: Int64
}

struct DeliveredMessage: Sendable {
    let identity: MessageIdentity
    /// How many times it was given out, with this one.
    let deliveries: UInt64
    /// How many messages follow that the consumer has not given out yet.
    let pending: UInt64

    private static let begins = Array("$JS.ACK.".utf8)

    /// Returns nil if it is not the reply of a message of a stream.
    init?(reply: UnsafeRawBufferPointer) {
        guard reply.starts(with: DeliveredMessage.begins) else { return nil }
        let parts = reply.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let first: Int
        switch parts.count {
        case 9: first = 4
        case 11...: first = 6
        default: return nil
        }
        let numbers = parts[first..<first + 5].map { decimal($0) }
        guard let deliveries = numbers[0], let sequence = numbers[1], let time = numbers[3], let pending = numbers[4], sequence > 0 else {
            return nil
        }
        identity = MessageIdentity(sequence: sequence, time: Int64(clamping: time))
        (self.deliveries, self.pending) = (deliveries, pending)
    }
}
