// One of libcurl's easy handles, used for one request after another. It belongs to the transfer thread. It follows only the settings: the
// environment and the files in the user's home never change what it does.

internal import CCurl
internal import Glibc
internal import PluginKit

final class Transfer {
    let easy: UnsafeMutableRawPointer
    private let rules: ClientRules
    private let lists: HeaderLists
    private let clock: Clock
    /// The buffer for libcurl's error message.
    private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// The index of the target to which the handle is set.
    private var aim: Int?
    private var target: Target
    private(set) var delivery: PendingDelivery?
    private(set) var index = 0
    private var received = 0
    private var isCut = false
    private var hasStatus = false
    /// True if the answer began before the whole body was sent.
    private var isEarly = false
    private var bodyCount = 0
    /// True if libcurl has started to send the request.
    private var hasBegun = false
    /// True if the request was started before, on a connection that ended without an answer. libcurl then sends it again on its own. The
    /// server may have the events, whatever happens on the new connection.
    private var isSentAgain = false
    /// True if the events of the request must not leave any more. Nothing of it was sent on the last connection.
    private var isRefused = false
    private var retryAfter: UInt64?
    private var body: [UInt8] = []
    private var headers: [(name: String, value: [UInt8])] = []

    init(_ rules: ClientRules, _ lists: HeaderLists, _ clock: Clock) throws(SettingsFault) {
        guard let easy = ccurl_easy_init() else { throw SettingsFault("libcurl has no memory") }
        self.easy = easy
        self.rules = rules
        self.lists = lists
        self.clock = clock
        target = rules.targets[0]
        words.pointee = 0
        try Transfer.check(configure())
        try aim(at: 0)
    }

    /// Sets the handle to a target.
    func aim(at index: Int) throws(SettingsFault) {
        guard aim != index else { return }
        aim = nil
        target = rules.targets[index]
        try Transfer.check(configure(target, headers: lists[index]))
        aim = index
    }

    private static func check(_ refused: CURLoption?) throws(SettingsFault) {
        guard let refused else { return }
        let name = String(cString: ccurl_option_name(refused))
        throw SettingsFault("libcurl \(String(cString: ccurl_version())) does not take the setting \(name)")
    }

    deinit {
        ccurl_easy_cleanup(easy)
        words.deallocate()
    }

    // MARK: - A request

    /// Begins the next request of a delivery. Returns false if the handle cannot be set to its target.
    func begin(_ delivery: PendingDelivery) -> Bool {
        assert(self.delivery == nil, "a handle gets a request while it has another one")
        index = delivery.begin()
        self.delivery = delivery
        let bytes = delivery.requests.body(index)
        var isAimed: Bool = (try? aim(at: delivery.requests.target(of: index))) != nil
        if isAimed, let place = delivery.requests.place(of: index) {
            // The next request of the same target may have no place of its own.
            aim = nil
            isAimed = configure(place) == nil
        }
        words.pointee = 0
        received = 0
        isCut = false
        hasStatus = false
        isEarly = false
        bodyCount = bytes.count
        hasBegun = false
        isSentAgain = false
        isRefused = false
        retryAfter = nil
        body.removeAll(keepingCapacity: true)
        headers.removeAll(keepingCapacity: true)
        ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
        // libcurl does not copy the bytes. They stay in memory until the delivery learns that the request has ended.
        ccurl_set_pointer(easy, CURLOPT_POSTFIELDS, bytes.baseAddress)
        return isAimed
    }

    /// Reports the outcome to the delivery and returns the delivery.
    func end(_ outcome: Outcome) -> PendingDelivery? {
        assert(delivery != nil, "a request ended twice")
        defer { delivery = nil }
        delivery?.settle(index, outcome)
        return delivery
    }

    /// True if any byte of the body was sent, so that the server may have the events.
    var isSent: Bool { uploaded > 0 || isSentAgain }

    /// The number of bytes of the body that the connection has taken.
    private var uploaded: Int {
        var size: curl_off_t = 0
        ccurl_get_size(easy, CURLINFO_SIZE_UPLOAD_T, &size)
        return Int(size)
    }

    /// Returns the outcome of the request by its result.
    func outcome(_ result: CURLcode) -> Outcome {
        guard let delivery else { return .unknown("the request has ended before") }
        // The server may have the events from a connection that ended without an answer.
        if isRefused {
            return isSentAgain ? .unknown("the connection ended without an answer, and the events may not leave again") : .untried
        }
        return rules.outcome(of: reply(result), to: index, of: delivery.requests)
    }

    private func reply(_ result: CURLcode) -> Reply {
        if hasBegun, result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_RESOLVE_PROXY { isSentAgain = true }
        func number(_ info: CURLINFO) -> Int {
            var value = 0
            ccurl_get_long(easy, info, &value)
            return value
        }
        var location: UnsafePointer<CChar>?
        ccurl_get_text(easy, CURLINFO_REDIRECT_URL, &location)
        return Reply(
            result: result, status: hasStatus ? number(CURLINFO_RESPONSE_CODE) : 0, proxyStatus: number(CURLINFO_HTTP_CONNECTCODE),
            isSent: isSent, isSentAgain: isSentAgain, isEarly: isEarly || uploaded < bodyCount, isCut: isCut, retryAfter: retryAfter,
            location: location.map { String(cString: $0) }, body: body, headers: headers,
            detail: String(cString: words), systemError: Int32(clamping: number(CURLINFO_OS_ERRNO)))
    }

    // MARK: - The answer

    /// Handles a line of the head, also of an interim answer. Returns false to end the transfer.
    private func receive(head line: UnsafeRawBufferPointer) -> Bool {
        if line.starts(with: "HTTP/".utf8) {
            hasStatus = true
            retryAfter = nil
            headers.removeAll(keepingCapacity: true)
            // The last status line is the one of the final answer.
            isEarly = uploaded < bodyCount
            // If the server reports success before it has the whole body, the outcome is unknown in any case. The rest need not be sent.
            if isEarly, isSuccess(line) { return false }
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")), colon == 11,
            zip(line, "retry-after".utf8).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 })
        {
            let value = line[(colon + 1)...].filter { $0 != 0x0a && $0 != 0x0d }
            retryAfter = RetryAfter.milliseconds(value, wall: clock.wall())
        }
        if target.keepsEveryHeader || !target.keptHeaders.isEmpty { keep(line) }
        return count(line.count)
    }

    /// Keeps a header that the target wants.
    private func keep(_ line: UnsafeRawBufferPointer) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        guard target.keepsEveryHeader || target.keptHeaders.contains(name) else { return }
        let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x0a && $0 != 0x0d }
        headers.append((name, Array(value)))
    }

    /// Returns true if a line such as "HTTP/1.1 200 OK" has a 2xx status.
    private func isSuccess(_ line: UnsafeRawBufferPointer) -> Bool {
        line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }.first == UInt8(ascii: "2")
    }

    private func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        assert(body.count <= target.keptOfBody, "more of an answer is kept than may be")
        body.append(contentsOf: bytes.prefix(target.keptOfBody - body.count))
        return count(bytes.count)
    }

    private func count(_ size: Int) -> Bool {
        received += size
        isCut = received > target.longestAnswer
        return !isCut
    }

    // MARK: - Options

    /// Notes the first option that libcurl refuses.
    private struct Options {
        let easy: UnsafeMutableRawPointer
        var refused: CURLoption?

        mutating func note(_ option: CURLoption, _ result: CURLcode) { if result != CURLE_OK, refused == nil { refused = option } }
        mutating func set(_ option: CURLoption, _ value: Int) { note(option, ccurl_set_long(easy, option, value)) }
        mutating func set(_ option: CURLoption, _ value: String?) { note(option, ccurl_set_text(easy, option, value)) }
        mutating func set(_ option: CURLoption, pointer: UnsafeRawPointer?) { note(option, ccurl_set_pointer(easy, option, pointer)) }
    }

    /// Sets the options of a target. Returns the first option that libcurl refused, or nil if it accepted all.
    private func configure(_ target: Target, headers: UnsafeRawPointer?) -> CURLoption? {
        var options = Options(easy: easy)
        let isSecure = target.address.isSecure
        options.set(CURLOPT_URL, target.address.text)
        options.set(CURLOPT_PROTOCOLS_STR, isSecure ? "https" : "http")
        options.set(CURLOPT_HTTP_VERSION, Int(isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        // If HTTP/2 is possible, wait for the connection that is being made and do not open a second one.
        options.set(CURLOPT_PIPEWAIT, isSecure ? 1 : 0)
        options.set(CURLOPT_CUSTOMREQUEST, target.method.custom)
        options.set(CURLOPT_HTTPHEADER, pointer: headers)
        return options.refused
    }

    /// Sets the options of one request. Returns the first option that libcurl refused, or nil if it accepted all.
    private func configure(_ place: Place) -> CURLoption? {
        var options = Options(easy: easy)
        options.set(CURLOPT_URL, place.url)
        options.set(CURLOPT_CUSTOMREQUEST, place.method.custom)
        return options.refused
    }

    /// Sets the options of every request. Returns the first option that libcurl refused, or nil if it accepted all.
    private func configure() -> CURLoption? {
        var options = Options(easy: easy)

        // The connection.
        options.set(CURLOPT_FOLLOWLOCATION, 0)
        options.set(CURLOPT_UNRESTRICTED_AUTH, 0)
        options.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        options.set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        // An empty text means no proxy and no exceptions. Without these options libcurl would use the environment for both.
        options.set(CURLOPT_PROXY, rules.settings.proxy?.text ?? "")
        options.set(CURLOPT_NOPROXY, "")
        options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        options.set(CURLOPT_TCP_KEEPALIVE, 1)
        let context = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        options.set(CURLOPT_OPENSOCKETDATA, pointer: context)
        options.note(CURLOPT_OPENSOCKETFUNCTION, ccurl_set_open(easy, openSocket))

        // The request.
        options.set(CURLOPT_POST, 1)
        options.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        options.set(CURLOPT_PREREQDATA, pointer: context)
        options.note(CURLOPT_PREREQFUNCTION, ccurl_set_begin(easy, noteStart))

        // The time limits. libcurl resolves names on its own threads, and does not wait for them after the time limit.
        options.set(CURLOPT_NOSIGNAL, 1)
        options.set(CURLOPT_QUICK_EXIT, 1)
        options.set(CURLOPT_CONNECTTIMEOUT_MS, rules.settings.connectTimeout)
        options.set(CURLOPT_TIMEOUT_MS, rules.settings.totalTimeout)

        // The trusted certificates.
        let oldest = Int(rules.settings.tls.minimum == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2)
        for (version, peer, host) in [
            (CURLOPT_SSLVERSION, CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST),
            (CURLOPT_PROXY_SSLVERSION, CURLOPT_PROXY_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYHOST),
        ] {
            options.set(version, oldest)
            options.set(peer, 1)
            options.set(host, 2)
        }
        if let ca = rules.settings.tls.ca {
            options.set(CURLOPT_CAINFO, ca)
            // Without this, libcurl would also trust the system's folder.
            options.set(CURLOPT_CAPATH, nil)
        }
        if let certificate = rules.settings.tls.certificate {
            options.set(CURLOPT_SSLCERT, certificate)
            options.set(CURLOPT_SSLKEY, rules.settings.tls.key ?? certificate)
            // With an empty password an encrypted key fails, and libcurl does not ask for a password on the terminal.
            options.set(CURLOPT_KEYPASSWD, "")
        }

        // The answer.
        options.set(CURLOPT_PRIVATE, pointer: context)
        options.set(CURLOPT_ERRORBUFFER, pointer: words)
        options.set(CURLOPT_HEADERDATA, pointer: context)
        options.set(CURLOPT_WRITEDATA, pointer: context)
        options.note(CURLOPT_HEADERFUNCTION, ccurl_set_receive(easy, CURLOPT_HEADERFUNCTION, receiveHead))
        options.note(CURLOPT_WRITEFUNCTION, ccurl_set_receive(easy, CURLOPT_WRITEFUNCTION, receiveBody))
        return options.refused
    }

    /// Returns the transfer that owns an easy handle.
    static func of(_ easy: UnsafeMutableRawPointer?) -> Transfer? {
        var context: UnsafeMutableRawPointer?
        ccurl_get_pointer(easy, CURLINFO_PRIVATE, &context)
        return context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private let noteStart: ccurl_begin = { context, _, _, _, _ in
        let transfer = Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
        transfer.isSentAgain = transfer.isSentAgain || transfer.hasBegun
        // The connection is there, and nothing of the request has left. This is the last moment to ask.
        guard transfer.delivery?.mayBegin(transfer.index) ?? false else {
            transfer.isRefused = true
            return CURL_PREREQFUNC_ABORT
        }
        transfer.hasBegun = true
        return CURL_PREREQFUNC_OK
    }

    private let receiveHead: ccurl_receive = { bytes, size, count, context in
        let transfer = Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
        return transfer.receive(head: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
    }

    private let receiveBody: ccurl_receive = { bytes, size, count, context in
        let transfer = Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
        return transfer.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
    }

    /// The socket has SOCK_CLOEXEC, so a program that the router starts does not inherit the connection.
    private let openSocket: ccurl_open = { context, _, address in
        let transfer = Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
        transfer.isSentAgain = transfer.isSentAgain || transfer.hasBegun
        let address = address!.pointee
        return socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
    }
}

extension Target.Method {
    /// The method as libcurl wants it. It is nil for POST, which every request has from its options.
    fileprivate var custom: String? { self == .post ? nil : rawValue }
}
