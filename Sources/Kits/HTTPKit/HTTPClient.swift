// The single thread that runs all requests of an instance, and the mailbox through which other threads pass work to it. It sends nothing
// before the end of a pause that the server asks for. It sends credentials only to the origin of the URL. It never follows a redirect, and
// it always verifies certificates. When `close` returns, every delivery and flush has been answered. A later one is answered at once.

internal import CCrypto
internal import CCurl
public import PluginKit

public final class HTTPClient: @unchecked Sendable {
    private struct Mailbox {
        var deliveries: [PendingDelivery] = []
        var flushes: [Flush] = []
        var isClosed = false
    }

    /// A waiting flush. A completion is not copyable, so it cannot be an array element.
    private final class Flush {
        private var completion: Completion?
        init(_ completion: consuming Completion) { self.completion = consume completion }
        func finish() { completion.take()?.finish(.delivered) }
    }

    /// libcurl's global state in the process. The first instance makes it. It is never freed, since other modules may use libcurl too.
    private static let isLibraryReady: Bool = {
        crypto_stay()
        return ccurl_global_init() == CURLE_OK
    }()

    private let rules: ClientRules
    private let clock: Clock
    private let multi: UnsafeMutableRawPointer
    private let lists: HeaderLists
    private let mailbox = Monitor(Mailbox())
    private let thread = Monitor<Thread?>(nil)

    public init(_ rules: ClientRules, _ clock: Clock = .system) throws(SettingsFault) {
        guard HTTPClient.isLibraryReady, let multi = curl_multi_init() else { throw SettingsFault("libcurl cannot be used here") }
        self.rules = rules
        self.clock = clock
        self.multi = multi
        lists = HeaderLists(rules.targets)
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, rules.settings.inFlight)
        // Detect missing features of libcurl now, not with the first events.
        let trial = try Transfer(rules, lists, clock)
        for target in rules.targets.indices { try trial.aim(at: target) }
        thread.withLock { $0 = Thread.start("http") { self.run() } }
    }

    deinit {
        curl_multi_cleanup(multi)
    }

    // MARK: - Mailbox, for any thread

    /// Carries out the requests of a delivery, and ends the delivery.
    public func send(_ requests: any Requests, of delivery: consuming Delivery) { take(PendingDelivery(delivery, requests)) }

    /// The scheme and the host of a target, for messages.
    public func origin(of target: Int) -> String { rules.targets[target].address.origin }

    /// Returns words that are safe to show: they may be what a server said, which can repeat a secret.
    func shown(_ words: String) -> String { printable(rules.secrets.concealed(in: words)) }

    private func take(_ delivery: PendingDelivery) {
        if hand({ $0.deliveries.append(delivery) }) { return }
        delivery.putOff(.retry("the provider is closed"))
        _ = delivery.endIfDone()
    }

    /// Answers when no request is active.
    public func flush(_ completion: consuming Completion) {
        let flush = Flush(completion)
        if !hand({ $0.flushes.append(flush) }) { flush.finish() }
    }

    /// Ends the active requests and the thread. A second call does nothing.
    public func close() {
        _ = hand { $0.isClosed = true }
        thread.withLock { $0.take() }?.join()
    }

    /// Puts work into the mailbox. Returns false if it is closed.
    private func hand(_ body: (inout Mailbox) -> Void) -> Bool {
        mailbox.withLock { mailbox in
            guard !mailbox.isClosed else { return false }
            body(&mailbox)
            // This is the only libcurl call that other threads may make.
            curl_multi_wakeup(multi)
            return true
        }
    }

    // MARK: - The thread

    private func run() {
        let queue = TransferQueue(rules, clock, multi: multi, lists: lists)
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
            assert(!handed.isClosed || flushes.isEmpty, "a flush has no answer after the end")
            if handed.isClosed { return }
            // New work in the mailbox ends this wait at once.
            curl_multi_poll(multi, nil, 0, 60_000, nil)
        }
    }
}

/// The headers of each target as libcurl's lists, which must outlive the transfers.
final class HeaderLists {
    private let lists: [UnsafeMutablePointer<curl_slist>?]

    init(_ targets: [Target]) {
        // With an empty Expect header libcurl sends a large body without asking first. Asking costs a second with many servers.
        lists = targets.map { ($0.headers.map(\.line) + ["Expect:"]).reduce(nil) { curl_slist_append($0, $1) } }
    }

    deinit { for list in lists { curl_slist_free_all(list) } }

    subscript(target: Int) -> UnsafeRawPointer? { UnsafeRawPointer(lists[target]) }
}
