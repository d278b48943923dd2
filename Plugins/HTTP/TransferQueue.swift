// The requests under way and those that wait for their turn. All of it belongs to the courier's one thread.

internal import CCurl
internal import PluginKit

final class TransferQueue {
    private let rules: HTTPRules
    private let clock: Clock
    private let multi: UnsafeMutableRawPointer
    private let headers: UnsafeMutablePointer<curl_slist>?
    /// Those that have requests to begin, with the instant at which they have waited long enough.
    private var waiting: [(delivery: PendingDelivery, until: Instant)] = []
    private var underWay: [ObjectIdentifier: Transfer] = [:]
    /// What the server answered when it asked to be left alone, and until when nothing is sent to it.
    private var pause: (code: Int, message: String, until: Instant)?
    /// Used before, with their settings; kept for the next requests.
    private var spare: [Transfer] = []

    var isIdle: Bool { waiting.isEmpty && underWay.isEmpty }

    init(_ rules: HTTPRules, _ clock: Clock, multi: UnsafeMutableRawPointer, headers: UnsafeMutablePointer<curl_slist>?) {
        self.rules = rules
        self.clock = clock
        self.multi = multi
        self.headers = headers
    }

    func add(_ deliveries: [PendingDelivery]) {
        guard !deliveries.isEmpty else { return }
        let until = clock.now() + .milliseconds(rules.totalTimeout)
        waiting += deliveries.map { ($0, until) }
    }

    /// Moves everything as far as it goes without waiting.
    func advance() {
        repeat {
            beginRequests()
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
        } while settleEnded() && !waiting.isEmpty
    }

    private func beginRequests() {
        while let (delivery, until) = waiting.first {
            if let paused { delivery.putOff(paused) }
            if clock.now() >= until { delivery.putOff(.retry("no request became free within \(rules.totalTimeout) ms")) }
            if delivery.wantsMore {
                guard underWay.count < rules.inFlight else { return }
                begin(delivery)
            }
            if !delivery.wantsMore {
                waiting.removeFirst()
                _ = delivery.endIfDone()
            }
        }
    }

    private func begin(_ delivery: PendingDelivery) {
        guard let transfer = spare.popLast() ?? (try? Transfer(rules, headers: headers, clock)) else {
            return delivery.putOff(.retry("libcurl has no memory"))
        }
        transfer.begin(delivery)
        underWay[ObjectIdentifier(transfer)] = transfer
        if curl_multi_add_handle(multi, transfer.easy) != CURLM_OK { end(transfer, .retry("libcurl has no memory")) }
    }

    /// Whether any request has ended.
    private func settleEnded() -> Bool {
        var any = false
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let transfer = Transfer.of(message.pointee.easy_handle) else { continue }
            // The message does not outlive the removal of its handle.
            end(transfer, rules.outcome(of: transfer.reply(ccurl_result(message))))
            any = true
        }
        return any
    }

    private func end(_ transfer: Transfer, _ outcome: Outcome) {
        curl_multi_remove_handle(multi, transfer.easy)
        underWay[ObjectIdentifier(transfer)] = nil
        spare.append(transfer)
        note(outcome)
        _ = transfer.end(outcome)?.endIfDone()
    }

    /// An answer to one request that names a time is of the server: it holds for everything that has not been sent.
    private func note(_ outcome: Outcome) {
        guard case .retry(let code, let message, let milliseconds?) = outcome else { return }
        let until = clock.now() + .milliseconds(milliseconds)
        if let pause, pause.until >= until { return }
        pause = (code, message, until)
    }

    /// What becomes of a request that would begin now; nil: it may begin.
    private var paused: Outcome? {
        guard let pause else { return nil }
        let left = (pause.until - clock.now()).nanoseconds
        guard left > 0 else {
            self.pause = nil
            return nil
        }
        return .retry(code: pause.code, pause.message, afterMilliseconds: UInt64((left + 999_999) / 1_000_000))
    }

    /// Ends everything at once: what was sent is unknown, the rest is to be sent again.
    func abandon() {
        let words = "the provider was closed"
        for (delivery, _) in waiting { delivery.putOff(.retry(words)) }
        for transfer in Array(underWay.values) { end(transfer, transfer.isSent ? .unknown(words) : .retry(words)) }
        for (delivery, _) in waiting { _ = delivery.endIfDone() }
        waiting = []
    }
}
