// A connection to one server of the cluster. It never reconnects by itself: when it is lost, whoever uses it makes another one. So it is
// always known which messages a connection has sent, and no message waits in the library for a connection that comes later.

internal import CNATS
internal import HTTPKit
internal import PluginKit

/// What happens on a connection. The calls come from threads of libnats.
protocol ConnectionListener: AnyObject, Sendable {
    /// A message has come to the inbox of the connection.
    func received(by number: UInt, _ message: ConnectionMessage)
    func reported(by number: UInt, words: String)
    func closed(_ number: UInt)
}

/// How libnats is found and loaded.
struct NATSLibrary: Sendable {
    /// True if there is a file with its name where the dynamic linker looks. It is not opened.
    var isFound: @Sendable () -> Bool
    /// Loads it. Returns nil, or the reason why it cannot be used, with the remedy. After a failure the next call tries again.
    var load: @Sendable () -> String?

    static let system = NATSLibrary(
        isFound: { cnats_is_found() != 0 },
        load: {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 500) { words in
                var calls = ConnectionCalls.table
                return cnats_load(&calls, words.baseAddress, words.count) != 0 ? nil : printable(String(cString: words.baseAddress!))
            }
        })
}

/// The reason why there is no connection.
struct ConnectionFault: Error {
    let words: String
    /// True if the configuration is wrong, so that another attempt fails in the same way.
    let isSetting: Bool

    var outcome: Outcome { isSetting ? .fault(words) : .retry(words) }
}

/// A connection belongs to one thread, except that libnats calls its listener on others.
final class Connection {
    let handle: OpaquePointer
    /// The number of the connection in this process. No two connections have the same one.
    let number: UInt
    /// The subject at which answers arrive. A message's reply is this, a dot and a token.
    let inbox: String
    let server: ServerSettings.Server

    /// Connects to the first server that accepts, beginning with the one at `first`. The library must be loaded.
    static func open(
        _ settings: ServerSettings, first: Int = 0, name: String, listener: (any ConnectionListener)?
    ) throws(ConnectionFault) -> Connection {
        var worst: ConnectionFault?
        for offset in settings.servers.indices {
            do throws(ConnectionFault) {
                return try Connection(settings, settings.servers[(first + offset) % settings.servers.count], name, listener)
            } catch {
                // A server that refuses says more than one that is away.
                if worst == nil || error.isSetting { worst = error }
            }
        }
        throw worst ?? ConnectionFault(words: "there is no server", isSetting: true)
    }

    private init(
        _ settings: ServerSettings, _ server: ServerSettings.Server, _ name: String, _ listener: (any ConnectionListener)?
    ) throws(ConnectionFault) {
        self.server = server
        let (inbox, number) = (try Connection.newInbox(), ConnectionCalls.add(listener))
        (self.inbox, self.number) = (inbox, number)
        let result = ConnectionAttempt.run(settings, server, name, inbox: listener == nil ? nil : inbox, number)
        if let made = result.made {
            handle = made
            return
        }
        ConnectionCalls.remove(number)
        throw Connection.fault(result.status, settings.secrets.concealed(in: result.words), server)
    }

    deinit {
        ConnectionCalls.remove(number)
        cnats_close(handle)
    }

    private static func newInbox() throws(ConnectionFault) -> String {
        let made = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 200) { buffer in
            cnats_inbox(buffer.baseAddress, buffer.count) != 0 ? String(cString: buffer.baseAddress!) : nil
        }
        guard let made else { throw ConnectionFault(words: "libnats cannot make an inbox", isSetting: false) }
        return made
    }

    private static func fault(_ status: cnats_status, _ words: String, _ server: ServerSettings.Server) -> ConnectionFault {
        let words = printable(words)
        switch status {
        case CNATS_CREDENTIALS:
            return ConnectionFault(words: "\(server.origin) refuses the credentials (\(words)); correct them", isSetting: true)
        case CNATS_NO_HEADERS:
            return ConnectionFault(words: "\(server.origin) does not support headers; NATS 2.2 or newer is needed", isSetting: true)
        case CNATS_SETTING: return ConnectionFault(words: "\(server.origin): a setting cannot be used: \(words)", isSetting: true)
        case CNATS_TLS:
            // A handshake that was cut off may succeed later; a certificate that does not fit stays as it is.
            let isAboutCertificate = ["certificate", "mismatch", "secure", "Secure"].contains { holds(words, $0) }
            return ConnectionFault(words: "\(server.origin): TLS failed: \(words)", isSetting: isAboutCertificate)
        default: return ConnectionFault(words: "cannot connect to \(server.origin): \(words)", isSetting: false)
        }
    }

    var isOpen: Bool { cnats_is_open(handle) != 0 }

    /// The most bytes of a message and its headers that the server accepts.
    var mostBytes: Int { Int(cnats_most_bytes(handle)) }

    /// Gives a message to the connection, which sends it soon. Returns false if the connection has ended.
    func publish(_ subject: String, _ body: StaticString) -> Bool {
        let text = UnsafeRawPointer(body.utf8Start).assumingMemoryBound(to: CChar.self)
        return cnats_publish(handle, subject, nil, nil, nil, text, Int32(body.utf8CodeUnitCount)) == CNATS_OK
    }

    func publish(_ subject: String, reply: String, text: String) -> Bool {
        cnats_publish(handle, subject, reply, nil, nil, text, Int32(text.utf8.count)) == CNATS_OK
    }

    /// Ends the subscription to the inbox, before anything that is published later.
    func unsubscribe() { cnats_unsubscribe(handle) }

    /// Returns true if the server has read everything that was published before.
    func flush(milliseconds: Int) -> Bool { cnats_flush(handle, Int64(milliseconds)) == CNATS_OK }

    /// Sends a request and returns the answer. It is nil if nobody answers.
    func request(_ subject: String, _ body: String, milliseconds: Int) -> (status: cnats_status, answer: String) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 << 10) { buffer in
            var size = 0
            let status = cnats_request(
                handle, subject, body, Int32(body.utf8.count), Int64(milliseconds), buffer.baseAddress, buffer.count, &size)
            guard status == CNATS_OK else { return (status, "") }
            return (status, String(decoding: UnsafeRawBufferPointer(buffer)[..<size], as: UTF8.self))
        }
    }
}

/// True if the part is somewhere in the words.
func holds(_ words: String, _ part: String) -> Bool {
    let (words, part) = (Array(words.utf8), Array(part.utf8))
    guard words.count >= part.count else { return false }
    return (0...words.count - part.count).contains { words[$0...].starts(with: part) }
}
