// The active requests, and the deliveries that wait for their turn. Only the transfer thread uses it.

internal import CCurl
internal import PluginKit

final class TransferQueue {
    private let rules: ClientRules
    private let clock: Clock
    private let multi: UnsafeMutableRawPointer
    private let lists: HeaderLists
    /// The deliveries with requests that have not begun, each with the time at which its wait ends.
    private var waiting: [(delivery: PendingDelivery, until: Instant)] = []
    private var underWay: [ObjectIdentifier: Transfer] = [:]
    /// The pause that the server asked for: its answer, and the time until which nothing is sent to it.
    private var pause: (code: Int, message: String, until: Instant)?
    /// Transfers that are already configured, kept for the next requests.
    private var spare: [Transfer] = []

    var isIdle: Bool { waiting.isEmpty && underWay.isEmpty }

    init(_ rules: ClientRules, _ clock: Clock, multi: UnsafeMutableRawPointer, lists: HeaderLists) {
        self.rules = rules
        self.clock = clock
        self.multi = multi
        self.lists = lists
    }

    func add(_ deliveries: [PendingDelivery]) {
        guard !deliveries.isEmpty else { return }
        let until = clock.now() + .milliseconds(rules.settings.totalTimeout)
        waiting += deliveries.map { ($0, until) }
    }

    /// Advances all requests as far as possible without waiting.
    func advance() {
        repeat {
            beginRequests()
            var running: Int32 = 0
            ccurl_multi_perform(multi, &running)
        } while settleEnded() && !waiting.isEmpty
    }

    private func beginRequests() {
        while let (delivery, until) = waiting.first {
            if let paused { delivery.putOff(paused) }
            if clock.now() >= until { delivery.putOff(.retry("no request became free within \(rules.settings.totalTimeout) ms")) }
            if delivery.wantsMore {
                guard underWay.count < rules.settings.inFlight else { return }
                begin(delivery)
            }
            if !delivery.wantsMore {
                waiting.removeFirst()
                _ = delivery.endIfDone()
            }
        }
    }

    private func begin(_ delivery: PendingDelivery) {
        guard let transfer = spare.popLast() ?? (try? Transfer(rules, lists, clock)) else {
            return delivery.putOff(.retry("libcurl has no memory"))
        }
        let isReady = transfer.begin(delivery)
        underWay[ObjectIdentifier(transfer)] = transfer
        assert(underWay.count <= rules.settings.inFlight, "more requests run at once than may")
        if !isReady || ccurl_multi_add_handle(multi, transfer.easy) != CURLM_OK { end(transfer, .retry("libcurl has no memory")) }
    }

    /// Settles the requests that have ended. Returns true if any has ended.
    private func settleEnded() -> Bool {
        var any = false
        while let message = ccurl_multi_info_read(multi) {
            guard message.pointee.msg == CURLMSG_DONE, let transfer = Transfer.of(message.pointee.easy_handle) else { continue }
            // Removing the handle invalidates the message, so read the result first.
            end(transfer, transfer.outcome(ccurl_result(message)))
            any = true
        }
        return any
    }

    private func end(_ transfer: Transfer, _ outcome: Outcome) {
        assert(underWay[ObjectIdentifier(transfer)] != nil, "a request ended that does not run")
        ccurl_multi_remove_handle(multi, transfer.easy)
        underWay[ObjectIdentifier(transfer)] = nil
        spare.append(transfer)
        note(outcome)
        _ = transfer.end(outcome)?.endIfDone()
    }

    /// Records a pause. An answer that names a time applies to the server, so it holds for every request that has not been sent.
    private func note(_ outcome: Outcome) {
        if case .mixed(let rest, _) = outcome { return note(rest) }
        guard case .retry(let code, let message, let milliseconds?) = outcome else { return }
        assert(milliseconds <= RetryAfter.most, "a server pauses the provider for longer than it may")
        let until = clock.now() + .milliseconds(milliseconds)
        if let pause, pause.until >= until { return }
        pause = (code, message, until)
    }

    /// The outcome of a request that would begin now. It is nil if the request may begin.
    private var paused: Outcome? {
        guard let pause else { return nil }
        let left = (pause.until - clock.now()).nanoseconds
        guard left > 0 else {
            self.pause = nil
            return nil
        }
        return .retry(code: pause.code, pause.message, afterMilliseconds: UInt64((left + 999_999) / 1_000_000))
    }

    /// Ends all requests at once. A sent request is unknown, and the others are sent again.
    func abandon() {
        let words = "the provider was closed"
        for (delivery, _) in waiting { delivery.putOff(.retry(words)) }
        for transfer in Array(underWay.values) { end(transfer, transfer.isSent ? .unknown(words) : .retry(words)) }
        for (delivery, _) in waiting { _ = delivery.endIfDone() }
        waiting = []
        assert(isIdle, "a request still runs after the end")
    }
}
