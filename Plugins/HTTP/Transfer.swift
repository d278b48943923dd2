// One of libcurl's easy handles, used for one request after another. It belongs to the transfer thread. It follows only the settings: the
// environment and the files in the user's home never change what it does.

internal import CCurl
internal import Glibc
internal import PluginKit

final class Transfer {
    /// The largest number of bytes of an answer, including its headers. The rest of a longer answer is not read.
    static let longestAnswer = 64 << 10
    private static let keptOfBody = 16 << 10

    let easy: UnsafeMutableRawPointer
    private let rules: HTTPRules
    private let clock: Clock
    /// The buffer for libcurl's error message.
    private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

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
    private var retryAfter: UInt64?
    private var body: [UInt8] = []

    /// `headers` must outlive the transfer.
    init(_ rules: HTTPRules, headers: UnsafeMutablePointer<curl_slist>?, _ clock: Clock) throws(SettingsFault) {
        guard let easy = curl_easy_init() else { throw SettingsFault("libcurl has no memory") }
        self.easy = easy
        self.rules = rules
        self.clock = clock
        words.pointee = 0
        if let option = configure(headers) {
            let name = String(cString: curl_easy_option_by_id(option).pointee.name)
            throw SettingsFault("libcurl \(String(cString: ccurl_version())) does not take the setting \(name)")
        }
    }

    deinit {
        curl_easy_cleanup(easy)
        words.deallocate()
    }

    // MARK: - A request

    func begin(_ delivery: PendingDelivery) {
        assert(self.delivery == nil, "a handle gets a request while it has another one")
        let (index, bytes) = delivery.begin()
        self.delivery = delivery
        self.index = index
        words.pointee = 0
        received = 0
        isCut = false
        hasStatus = false
        isEarly = false
        bodyCount = bytes.count
        hasBegun = false
        isSentAgain = false
        retryAfter = nil
        body.removeAll(keepingCapacity: true)
        ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
        // libcurl does not copy the bytes. They stay in memory until the delivery learns that the request has ended.
        ccurl_set_pointer(easy, CURLOPT_POSTFIELDS, bytes.baseAddress)
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

    func reply(_ result: CURLcode) -> Reply {
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
            location: location.map { String(cString: $0) }, body: body,
            detail: String(cString: words), systemError: Int32(clamping: number(CURLINFO_OS_ERRNO)))
    }

    // MARK: - The answer

    /// Handles a line of the head, also of an interim answer. Returns false to end the transfer.
    private func receive(head line: UnsafeRawBufferPointer) -> Bool {
        if line.starts(with: "HTTP/".utf8) {
            hasStatus = true
            retryAfter = nil
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
        return count(line.count)
    }

    /// Returns true if a line such as "HTTP/1.1 200 OK" has a 2xx status.
    private func isSuccess(_ line: UnsafeRawBufferPointer) -> Bool {
        line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }.first == UInt8(ascii: "2")
    }

    private func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        assert(body.count <= Transfer.keptOfBody, "more of an answer is kept than may be")
        body.append(contentsOf: bytes.prefix(Transfer.keptOfBody - body.count))
        return count(bytes.count)
    }

    private func count(_ size: Int) -> Bool {
        received += size
        isCut = received > Transfer.longestAnswer
        return !isCut
    }

    // MARK: - Options of every request

    /// Sets the options. Returns the first option that libcurl refused, or nil if it accepted all.
    private func configure(_ headers: UnsafeMutablePointer<curl_slist>?) -> CURLoption? {
        var refused: CURLoption?
        func note(_ option: CURLoption, _ result: CURLcode) { if result != CURLE_OK, refused == nil { refused = option } }
        func set(_ option: CURLoption, _ value: Int) { note(option, ccurl_set_long(easy, option, value)) }
        func set(_ option: CURLoption, _ value: String?) { note(option, ccurl_set_text(easy, option, value)) }
        func set(_ option: CURLoption, pointer: UnsafeRawPointer?) { note(option, ccurl_set_pointer(easy, option, pointer)) }

        // The target and the connection.
        set(CURLOPT_URL, rules.address.text)
        set(CURLOPT_PROTOCOLS_STR, rules.address.isSecure ? "https" : "http")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_UNRESTRICTED_AUTH, 0)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        // An empty text means no proxy and no exceptions. Without these options libcurl would use the environment for both.
        set(CURLOPT_PROXY, rules.proxy?.text ?? "")
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_HTTP_VERSION, Int(rules.address.isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        // If HTTP/2 is possible, wait for the connection that is being made and do not open a second one.
        set(CURLOPT_PIPEWAIT, rules.address.isSecure ? 1 : 0)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        let context = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        set(CURLOPT_OPENSOCKETDATA, pointer: context)
        note(CURLOPT_OPENSOCKETFUNCTION, ccurl_set_open(easy, openSocket))

        // The request.
        set(CURLOPT_POST, 1)
        if rules.method != .post { set(CURLOPT_CUSTOMREQUEST, rules.method.rawValue) }
        set(CURLOPT_HTTPHEADER, pointer: headers)
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        set(CURLOPT_PREREQDATA, pointer: context)
        note(CURLOPT_PREREQFUNCTION, ccurl_set_begin(easy, noteStart))

        // The time limits. libcurl resolves names on its own threads, and does not wait for them after the time limit.
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, rules.connectTimeout)
        set(CURLOPT_TIMEOUT_MS, rules.totalTimeout)

        // The trusted certificates.
        let oldest = Int(rules.tls.minimum == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2)
        for (version, peer, host) in [
            (CURLOPT_SSLVERSION, CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST),
            (CURLOPT_PROXY_SSLVERSION, CURLOPT_PROXY_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYHOST),
        ] {
            set(version, oldest)
            set(peer, 1)
            set(host, 2)
        }
        if let ca = rules.tls.ca {
            set(CURLOPT_CAINFO, ca)
            // Without this, libcurl would also trust the system's folder.
            set(CURLOPT_CAPATH, nil)
        }
        if let certificate = rules.tls.certificate {
            set(CURLOPT_SSLCERT, certificate)
            set(CURLOPT_SSLKEY, rules.tls.key ?? certificate)
            // With an empty password an encrypted key fails, and libcurl does not ask for a password on the terminal.
            set(CURLOPT_KEYPASSWD, "")
        }

        // The answer.
        set(CURLOPT_PRIVATE, pointer: context)
        set(CURLOPT_ERRORBUFFER, pointer: words)
        set(CURLOPT_HEADERDATA, pointer: context)
        set(CURLOPT_WRITEDATA, pointer: context)
        note(CURLOPT_HEADERFUNCTION, ccurl_set_receive(easy, CURLOPT_HEADERFUNCTION, receiveHead))
        note(CURLOPT_WRITEFUNCTION, ccurl_set_receive(easy, CURLOPT_WRITEFUNCTION, receiveBody))
        return refused
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
