// Divides the descriptors of the process: some are kept for files, the control socket, `admin` and providers, and the connections of all
// listeners share the rest. It is pure: it gets numbers and a plan, and returns numbers.

public import Plans

public struct DescriptorShares: Sendable, Equatable {
    /// What is kept for the state folder, its databases, a reload, and messages.
    static let keptForFiles = 48
    /// What is kept for each server of requests about the router: its 32 connections, and its own descriptors.
    static let keptForServer = 36
    /// What is kept for each provider, and for each source of a module: its connections to the vendor, of which `http` has 64 at most, and the files of its queue.
    static let keptForProvider = 72
    /// What is kept for each source of files: the most files that it follows at once.
    static let keptForFollower = 520

    /// The number that the process may have open at once.
    public let limit: Int
    /// The number that is kept for other things than connections.
    public let kept: Int
    /// The most connections of each source of the plan, by its index. It is nil for a source that is not a listener.
    public let connections: [Int?]

    /// `open` is the number of descriptors that are open before the first connection.
    public init(_ plan: Plan, limit: Int, open: Int) {
        let followers = plan.sources.count { $0.file != nil }
        let modules = plan.sources.count { $0.module != nil }
        let wanted =
            DescriptorShares.keptForFiles + DescriptorShares.keptForServer * (plan.admin == nil ? 1 : 2)
            + DescriptorShares.keptForProvider * (plan.providers.count + modules) + DescriptorShares.keptForFollower * followers
        let free = max(0, limit - open)
        self.limit = limit
        // Under a very low limit clients still get a quarter: a router that nobody can reach is of no use.
        kept = min(wanted, free - free / 4)
        connections = DescriptorShares.divide(free - kept, among: plan.sources.map { $0.http?.limits.connections })
    }

    /// Divides a number so that everyone gets what they want, or an equal share of what those who want less have left. Each gets at least 1.
    static func divide(_ number: Int, among wanted: [Int?]) -> [Int?] {
        var shares = wanted
        var left = number
        var asking = wanted.count { $0 != nil }
        for (index, want) in wanted.enumerated().compactMap({ index, want in want.map { (index, $0) } }).sorted(by: { $0.1 < $1.1 }) {
            assert(asking > 0, "more ask than there are")
            let share = max(1, min(want, left / asking))
            shares[index] = share
            left = max(0, left - share)
            asking -= 1
        }
        return shares
    }

    /// Returns the message about a listener that gets fewer connections than it is configured for, or nil if it gets all.
    public func message(source: Int, in plan: Plan) -> String? {
        guard let share = connections[source], let wanted = plan.sources[source].http?.limits.connections, share < wanted else {
            return nil
        }
        return
            "\(plan.sources[source].name): at most \(share) connections at once, not \(wanted) as limits.connections says: the process may "
            + "have \(limit) descriptors open, and \(kept) of them are kept for files, providers and the control socket; "
            + "raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd)"
    }
}
