// The mailbox of an instance, and the single thread that runs all its requests. The thread starts and libcurl is loaded with the first
// request; if it cannot be loaded, each delivery waits with a fault that says why, and the next one tries again. It sends nothing before the
// end of a pause that the server asks for. It sends credentials only to the origin of the URL. It never follows a redirect, and it always
// verifies certificates. When `close` returns, every delivery and flush has been answered. A later one is answered at once.

internal import CCurl
public import PluginKit

public final class HTTPClient: @unchecked Sendable {
    private struct Mailbox {
        var deliveries: [PendingDelivery] = []
        var flushes: [Flush] = []
        var isClosed = false
        /// True if the thread runs.
        var isStarted = false
        /// The handle in which the thread waits for sockets. It is nil as long as libcurl is not loaded; then the thread waits here.
        var multi: UnsafeMutableRawPointer?
    }

    /// A waiting flush. A completion is not copyable, so it cannot be an array element.
    private final class Flush {
        private var completion: Completion?
        init(_ completion: consuming Completion) { self.completion = consume completion }
        func finish() { completion.take()?.finish(.delivered) }
    }

    private let rules: ClientRules
    private let clock: Clock
    private let library: CurlLibrary
    private let mailbox = Monitor(Mailbox())
    private let thread = Monitor<Thread?>(nil)

    public convenience init(_ rules: ClientRules, _ clock: Clock = .system) throws(SettingsFault) {
        try self.init(rules, clock, library: .system)
    }

    /// Loads the library only if it is not where it is expected, so that a missing one is a fault of the settings.
    init(_ rules: ClientRules, _ clock: Clock, library: CurlLibrary) throws(SettingsFault) {
        self.rules = rules
        self.clock = clock
        self.library = library
        if !library.isFound(), let fault = library.load() { throw SettingsFault(fault) }
    }

    // MARK: - Mailbox, for any thread

    /// Carries out the requests of a delivery, and ends the delivery.
    public func send(_ requests: any Requests, of delivery: consuming Delivery) { take(PendingDelivery(delivery, requests)) }

    /// The scheme and the host of a target, for messages.
    public func origin(of target: Int) -> String { rules.targets[target].address.origin }

    /// Returns words that are safe to show: they may be what a server said, which can repeat a secret.
    func shown(_ words: String) -> String { printable(rules.secrets.concealed(in: words)) }

    /// Returns nil if libcurl is loaded, or the reason why it cannot be.
    func loadLibrary() -> String? { library.load() }

    private func take(_ delivery: PendingDelivery) {
        let isTaken = mailbox.withLock { mailbox in
            guard !mailbox.isClosed else { return false }
            mailbox.deliveries.append(delivery)
            if !mailbox.isStarted {
                mailbox.isStarted = true
                thread.withLock { $0 = Thread.start("http") { self.run() } }
            }
            wake(mailbox)
            return true
        }
        if isTaken { return }
        delivery.putOff(.retry("the provider is closed"))
        _ = delivery.endIfDone()
    }

    /// Answers when no request is active.
    public func flush(_ completion: consuming Completion) {
        let flush = Flush(completion)
        let isTaken = mailbox.withLock { mailbox in
            guard mailbox.isStarted, !mailbox.isClosed else { return false }
            mailbox.flushes.append(flush)
            wake(mailbox)
            return true
        }
        if !isTaken { flush.finish() }
    }

    /// Ends the active requests and the thread. A second call does nothing.
    public func close() {
        mailbox.withLock { mailbox in
            mailbox.isClosed = true
            wake(mailbox)
        }
        thread.withLock { $0.take() }?.join()
    }

    /// Wakes the thread. It is called under the lock, so the handle stays valid.
    private func wake(_ mailbox: Mailbox) {
        // This is the only libcurl call that other threads may make.
        if let multi = mailbox.multi { _ = ccurl_multi_wakeup(multi) } else { self.mailbox.wake() }
    }

    // MARK: - The thread

    private func run() {
        guard let engine = opened() else { return }
        var flushes: [Flush] = []
        while true {
            let handed = takeMail()
            engine.queue.add(handed.deliveries)
            flushes += handed.flushes
            if handed.isClosed { engine.queue.abandon() } else { engine.queue.advance() }
            if engine.queue.isIdle {
                for flush in flushes { flush.finish() }
                flushes = []
            }
            assert(!handed.isClosed || flushes.isEmpty, "a flush has no answer after the end")
            if handed.isClosed { break }
            // New work in the mailbox ends this wait at once.
            ccurl_multi_poll(engine.multi, 60_000)
        }
        mailbox.withLock { $0.multi = nil }
    }

    /// Opens libcurl as soon as there is work. What is handed over while it cannot be opened ends with a fault. Returns nil if the client
    /// was closed before it could be opened.
    private func opened() -> TransferEngine? {
        while true {
            mailbox.wait(while: { $0.deliveries.isEmpty && $0.flushes.isEmpty && !$0.isClosed })
            var fault = "the provider was closed"
            if !mailbox.withLock({ $0.isClosed }) {
                do throws(SettingsFault) {
                    if let reason = library.load() { throw SettingsFault(reason) }
                    let engine = try TransferEngine(rules, clock)
                    mailbox.withLock { $0.multi = engine.multi }
                    return engine
                } catch {
                    fault = error.description
                }
            }
            let handed = takeMail()
            for delivery in handed.deliveries {
                delivery.putOff(handed.isClosed ? .retry("the provider was closed") : .fault(fault))
                _ = delivery.endIfDone()
            }
            for flush in handed.flushes { flush.finish() }
            if handed.isClosed { return nil }
        }
    }

    /// Empties the mailbox.
    private func takeMail() -> Mailbox {
        mailbox.withLock { mailbox in
            defer {
                mailbox.deliveries.removeAll(keepingCapacity: true)
                mailbox.flushes.removeAll()
            }
            return mailbox
        }
    }
}
