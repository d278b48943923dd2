// Brings the calls of libnats to the listener of their connection. The library may call after a connection has ended, so a call carries only
// a number; a number that is not known any more is ignored.

internal import CNATS
internal import PluginKit

enum ConnectionCalls {
    private struct Listeners {
        var next: UInt = 1
        var byNumber: [UInt: any ConnectionListener] = [:]
    }

    private static let listeners = Monitor(Listeners())

    /// Returns a new number, and remembers its listener.
    static func add(_ listener: (any ConnectionListener)?) -> UInt {
        listeners.withLock { listeners in
            let number = listeners.next
            listeners.next += 1
            if let listener { listeners.byNumber[number] = listener }
            return number
        }
    }

    static func remove(_ number: UInt) { listeners.withLock { $0.byNumber[number] = nil } }

    private static func listener(_ number: UInt) -> (any ConnectionListener)? { listeners.withLock { $0.byNumber[number] } }

    static let table = cnats_calls(
        received: { number, message in
            guard let message, let listener = ConnectionCalls.listener(number) else { return }
            listener.received(by: number, ConnectionMessage(message.pointee))
        },
        reported: { number, words in
            guard let words else { return }
            ConnectionCalls.listener(number)?.reported(by: number, words: String(cString: words))
        },
        closed: { number in ConnectionCalls.listener(number)?.closed(number) })
}

/// A message that has come to the inbox of a connection. It is valid during the call that passes it.
struct ConnectionMessage {
    private let message: cnats_message

    init(_ message: cnats_message) { self.message = message }

    var data: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: message.data, count: message.data == nil ? 0 : message.size) }

    /// What the server says instead of a message, or 0. The words are empty if it has none.
    var status: Int { Int(message.status) }
    var words: String { message.words.map { String(cString: $0) } ?? "" }

    /// Where the server takes the acknowledgement of a message of a stream. An answer has none.
    var reply: UnsafeRawBufferPointer? { message.reply.map { UnsafeRawBufferPointer(start: $0, count: length($0)) } }

    /// What the subject of an answer ends with, behind its last dot.
    var token: UnsafeRawBufferPointer {
        guard let subject = message.subject else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let text = UnsafeRawBufferPointer(start: subject, count: length(subject))
        let start = text.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0
        return UnsafeRawBufferPointer(rebasing: text[start...])
    }

    private func length(_ text: UnsafePointer<CChar>) -> Int {
        var count = 0
        while text[count] != 0 { count += 1 }
        return count
    }
}
