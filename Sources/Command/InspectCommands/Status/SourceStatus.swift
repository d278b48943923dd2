// The current state of an HTTP source, for the status and the metrics.

public import Listener

public struct SourceStatus: Sendable {
    var name: String
    var address: String
    var counts: ListenerCounts

    public init(name: String, address: String, counts: ListenerCounts) {
        self.name = name
        self.address = address
        self.counts = counts
    }
}
