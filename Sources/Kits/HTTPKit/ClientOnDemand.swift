// A client that is made for its first request, and never after the end of the provider.

package import PluginKit

package final class ClientOnDemand: Sendable {
    private struct Life {
        var client: HTTPClient?
        var isClosed = false
    }

    private let rules: ClientRules
    private let clock: Clock
    private let life = Monitor(Life())

    package init(_ rules: ClientRules, _ clock: Clock) {
        self.rules = rules
        self.clock = clock
    }

    /// Returns the client. Throws if the provider was closed, or if the client cannot be made; then a later call tries again.
    package func client() throws(SettingsFault) -> HTTPClient {
        let made = life.withLock { life in
            Result { () throws(SettingsFault) in
                guard !life.isClosed else { throw SettingsFault("the provider is closed") }
                if let client = life.client { return client }
                let client = try HTTPClient(rules, clock)
                life.client = client
                return client
            }
        }
        return try made.get()
    }

    package func close() {
        let client = life.withLock { life in
            life.isClosed = true
            return life.client.take()
        }
        client?.close()
    }
}
