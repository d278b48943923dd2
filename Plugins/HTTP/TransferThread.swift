// The one thread on which all requests of an instance run, and the desk at which others hand over work for it. Once closed it has
// answered everything it took, and answers at once what comes still.

internal import CCrypto
internal import CCurl
internal import PluginKit

final class TransferThread: @unchecked Sendable {
    private struct Mailbox {
        var deliveries: [PendingDelivery] = []
        var flushes: [Flush] = []
        var isClosed = false
    }

    /// A flush that waits; a completion cannot be an element by itself.
    private final class Flush {
        private var completion: Completion?
        init(_ completion: consuming Completion) { self.completion = consume completion }
        func finish() { completion.take()?.finish(.delivered) }
    }

    /// libcurl's own state of the process, made by the first instance. It is never undone: other modules may use libcurl too.
    private static let isLibraryReady: Bool = {
        crypto_stay()
        return ccurl_global_init() == CURLE_OK
    }()

    private let rules: HTTPRules
    private let clock: Clock
    private let multi: UnsafeMutableRawPointer
    private let headers: UnsafeMutablePointer<curl_slist>?
    private let mailbox = Monitor(Mailbox())
    private let thread = Monitor<Thread?>(nil)

    init(_ rules: HTTPRules, _ clock: Clock) throws(SettingsFault) {
        guard TransferThread.isLibraryReady, let multi = curl_multi_init() else { throw SettingsFault("libcurl cannot be used here") }
        self.rules = rules
        self.clock = clock
        self.multi = multi
        // An empty Expect keeps libcurl from asking first whether a large body is welcome, which costs a second with many servers.
        headers = (rules.headers.map(\.line) + ["Expect:"]).reduce(nil) { curl_slist_append($0, $1) }
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, rules.inFlight)
        // What libcurl cannot do here is found out now, not with the first events.
        _ = try Transfer(rules, headers: headers, clock)
        thread.withLock { $0 = Thread.start("http") { self.run() } }
    }

    deinit {
        curl_multi_cleanup(multi)
        curl_slist_free_all(headers)
    }

    // MARK: - The desk, for any thread

    func take(_ delivery: PendingDelivery) {
        if hand({ $0.deliveries.append(delivery) }) { return }
        delivery.putOff(.retry("the provider is closed"))
        _ = delivery.endIfDone()
    }

    /// Answers when nothing is under way.
    func flush(_ completion: consuming Completion) {
        let flush = Flush(completion)
        if !hand({ $0.flushes.append(flush) }) { flush.finish() }
    }

    /// Ends what is under way and the thread; a second call finds nothing to do.
    func close() {
        _ = hand { $0.isClosed = true }
        thread.withLock { $0.take() }?.join()
    }

    /// False: it is closed.
    private func hand(_ body: (inout Mailbox) -> Void) -> Bool {
        mailbox.withLock { mailbox in
            guard !mailbox.isClosed else { return false }
            body(&mailbox)
            // The one call of libcurl that is for other threads.
            curl_multi_wakeup(multi)
            return true
        }
    }

    // MARK: - The thread

    private func run() {
        let queue = TransferQueue(rules, clock, multi: multi, headers: headers)
        var flushes: [Flush] = []
        while true {
            let handed = mailbox.withLock { mailbox in
                defer {
                    mailbox.deliveries.removeAll(keepingCapacity: true)
                    mailbox.flushes.removeAll()
                }
                return mailbox
            }
            queue.add(handed.deliveries)
            flushes += handed.flushes
            if handed.isClosed { queue.abandon() } else { queue.advance() }
            if queue.isIdle {
                for flush in flushes { flush.finish() }
                flushes = []
            }
            if handed.isClosed { return }
            // Work that was handed over in the meantime ends this wait at once.
            curl_multi_poll(multi, nil, 0, 60_000, nil)
        }
    }
}
