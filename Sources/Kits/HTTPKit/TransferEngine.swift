// What libcurl holds for a client: the handle of all its requests, their headers, and the queue. Only the client's thread uses it, except
// that others may wake the handle. It is made when the library has been loaded.

internal import CCurl
internal import PluginKit

final class TransferEngine {
    let multi: UnsafeMutableRawPointer
    let queue: TransferQueue

    /// Detects now what libcurl cannot do, and not with one event or another.
    init(_ rules: ClientRules, _ clock: Clock) throws(SettingsFault) {
        for address in rules.targets.map(\.address) + [rules.settings.proxy].compactMap({ $0 }) where !address.isReadAlike {
            throw SettingsFault(
                "libcurl \(String(cString: ccurl_version())) reads the URL of \(address.origin) in another way; write it plainly")
        }
        let lists = HeaderLists(rules.targets)
        let trial = try Transfer(rules, lists, clock)
        for target in rules.targets.indices { try trial.aim(at: target) }
        guard let multi = ccurl_multi_init() else { throw SettingsFault("libcurl has no memory") }
        self.multi = multi
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, rules.settings.inFlight)
        queue = TransferQueue(rules, clock, multi: multi, lists: lists)
    }

    deinit {
        assert(queue.isIdle, "a request runs when the handle of all requests is freed")
        ccurl_multi_cleanup(multi)
    }
}

/// The headers of each target as libcurl's lists, which must outlive the transfers.
final class HeaderLists {
    private let lists: [UnsafeMutablePointer<curl_slist>?]

    init(_ targets: [Target]) {
        // With an empty Expect header libcurl sends a large body without asking first. Asking costs a second with many servers.
        lists = targets.map { ($0.headers.map(\.line) + ["Expect:"]).reduce(nil) { ccurl_slist_append($0, $1) } }
    }

    deinit { for list in lists { ccurl_slist_free_all(list) } }

    subscript(target: Int) -> UnsafeRawPointer? { UnsafeRawPointer(lists[target]) }
}
