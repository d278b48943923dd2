// One attempt to connect, on a thread of its own: libnats has no time limit for a server that stops in the middle of a handshake of TLS. An
// attempt that takes too long is left alone, and closes the connection if it gets one after all.

internal import CNATS
internal import PluginKit

enum ConnectionAttempt {
    struct Result: @unchecked Sendable {
        var made: OpaquePointer?
        var status = CNATS_OK
        var words = ""
    }

    private struct State {
        var result: Result?
        var isAbandoned = false
    }

    /// The most attempts of this process that were left alone and have not ended. Each keeps a thread and a socket.
    private static let mostAbandoned = 16
    private static let abandoned = Monitor(0)

    static func run(
        _ settings: ServerSettings, _ server: ServerSettings.Server, _ name: String, inbox: String?, _ number: UInt
    ) -> Result {
        guard abandoned.withLock({ $0 < mostAbandoned }) else {
            return Result(
                status: CNATS_OTHER, words: "too many attempts to connect have not ended; servers do not continue handshakes of TLS")
        }
        let state = Monitor(State())
        Thread.start("nats-connect") {
            let result = connect(settings, server, name, inbox: inbox, number)
            let isAbandoned = state.withLock { state in
                if !state.isAbandoned { state.result = result }
                return state.isAbandoned
            }
            state.wake()
            guard isAbandoned else { return }
            if let made = result.made { cnats_close(made) }
            abandoned.withLock { $0 -= 1 }
        }.detach()
        // The library takes its time limit for each of two steps: the socket, and the greeting.
        let limit = 2 * settings.connectTimeout
        let end = Clock.system.now() + .milliseconds(limit)
        let result = state.waitUntilReady { state -> Readiness<Result?> in
            if let result = state.result { return .ready(result) }
            guard Clock.system.now() >= end else { return .notBefore(end) }
            state.isAbandoned = true
            abandoned.withLock { $0 += 1 }
            return .ready(nil)
        }
        return result ?? Result(status: CNATS_TIMEOUT, words: "it does not continue within \(limit) ms")
    }

    private static func connect(
        _ settings: ServerSettings, _ server: ServerSettings.Server, _ name: String, inbox: String?, _ number: UInt
    ) -> Result {
        let texts = OptionTexts(settings, server, name)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 500) { words in
            words.initialize(repeating: 0)
            var (options, status) = (texts.options(settings), CNATS_OK)
            let made = cnats_connect(&options, inbox, number, &status, words.baseAddress, words.count)
            return Result(made: made, status: status, words: String(cString: words.baseAddress!))
        }
    }
}

// MARK: - Texts of C

/// The texts of the options, which live as long as this value.
private final class OptionTexts {
    private var kept: [UnsafeMutablePointer<CChar>] = []
    private let server: ServerSettings.Server
    private let name: String

    init(_ settings: ServerSettings, _ server: ServerSettings.Server, _ name: String) {
        self.server = server
        self.name = name
    }

    deinit {
        for text in kept {
            // They may be secrets.
            text.update(repeating: 0, count: text.length)
            text.deallocate()
        }
    }

    func options(_ settings: ServerSettings) -> cnats_options {
        var options = cnats_options()
        options.url = keep(server.url)
        options.name = keep(name)
        options.is_secure = server.isSecure ? 1 : 0
        if server.isSecure {
            options.host = keep(server.host)
            options.authorities = settings.tls.authorities.map(keep)
            options.certificate = settings.tls.certificate.map(keep)
            options.key = settings.tls.key.map(keep)
        }
        switch settings.credentials {
        case .none: break
        case .user(let user, let password): (options.user, options.password) = (keep(user), keep(password))
        case .token(let token): options.token = keep(token)
        case .file(let path): options.credentials = keep(path)
        case .nkey(let key, let seed): (options.nkey, options.seed) = (keep(key), keep(seed))
        }
        options.connect_milliseconds = Int64(settings.connectTimeout)
        options.write_milliseconds = Int64(min(settings.totalTimeout, 5_000))
        options.ping_milliseconds = 10_000
        return options
    }

    private func keep(_ text: String) -> UnsafePointer<CChar> {
        let bytes = Array(text.utf8)
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { copy[index] = CChar(bitPattern: byte) }
        copy[bytes.count] = 0
        kept.append(copy)
        return UnsafePointer(copy)
    }
}

extension UnsafeMutablePointer<CChar> {
    fileprivate var length: Int {
        var count = 0
        while self[count] != 0 { count += 1 }
        return count
    }
}
