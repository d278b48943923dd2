// Compares what two configurations do with the same events: for each provider, which events it gets more, fewer, or looking otherwise, grouped
// by the route and the cause, each with one example. It sees only masked events. Pure: explanations in, groups out.

internal import Document
public import Explaining

public struct EventComparison: Sendable {
    public enum Kind: Int, Sendable { case more, fewer, otherwise }

    /// Events of one provider and one route that changed for the same cause.
    public struct Group: Sendable {
        public var kind: Kind
        public var provider: String
        public var route: String
        /// Why it was or is not sent, or what differs.
        public var cause: String
        public var count = 0
        /// The number of the first such line, and the name of its event.
        public var line: Int
        public var event: String
    }

    public private(set) var events = 0
    /// The number of events of which some provider gets something else.
    public private(set) var changed = 0
    public private(set) var groups: [Group] = []
    private var places: [String: Int] = [:]

    public init() {}

    /// Adds what both configurations do with the event of one line.
    public mutating func add(line: Int, old: Explanation, new: Explanation) {
        events += 1
        let providers = Set(Self.copies(old).map(\.provider) + Self.copies(new).map(\.provider)).sorted()
        var isChanged = false
        for provider in providers {
            var before = Self.copies(old).filter { $0.provider == provider }
            var after = Self.copies(new).filter { $0.provider == provider }
            // Equal copies cancel out, whichever route made them.
            for copy in before {
                guard let same = after.firstIndex(where: { $0.event == copy.event }),
                    let mine = before.firstIndex(where: { $0.route == copy.route && $0.event == copy.event })
                else { continue }
                after.remove(at: same)
                before.remove(at: mine)
            }
            isChanged = isChanged || !before.isEmpty || !after.isEmpty
            for copy in before {
                let name = Self.name(copy.event)
                if let other = after.firstIndex(where: { $0.route == copy.route }) ?? after.indices.first {
                    let differences = JSONValue(parsing: copy.event).flatMap { mine in
                        JSONValue(parsing: after[other].event).map { mine.differences(from: $0) }
                    }
                    let cause = (differences ?? []).map(Self.words).prefix(6).joined(separator: "; ")
                    note(.otherwise, provider, after[other].route, cause.isEmpty ? "the order of its members" : cause, line, name)
                    after.remove(at: other)
                } else {
                    note(.fewer, provider, copy.route, Self.fate(new, copy.route, provider), line, name)
                }
            }
            for copy in after { note(.more, provider, copy.route, Self.fate(old, copy.route, provider), line, Self.name(copy.event)) }
        }
        if isChanged { changed += 1 }
    }

    private mutating func note(_ kind: Kind, _ provider: String, _ route: String, _ cause: String, _ line: Int, _ event: String) {
        let key = "\(kind.rawValue)\u{0}\(provider)\u{0}\(route)\u{0}\(cause)"
        if let place = places[key] {
            groups[place].count += 1
            return
        }
        // Causes that name values are without number. What is left is counted under one.
        guard groups.count < 1000 else { return }
        places[key] = groups.count
        groups.append(Group(kind: kind, provider: provider, route: route, cause: cause, count: 1, line: line, event: event))
    }

    // MARK: - Copies

    private struct Copy {
        var provider: String
        var route: String
        var event: String
    }

    /// The events as the modules get them.
    private static func copies(_ explanation: Explanation) -> [Copy] {
        explanation.routes.flatMap { route in
            route.to.compactMap { provider -> Copy? in
                guard let shaped = route.shaped.first(where: { $0.provider == provider }) else {
                    return route.event.map { Copy(provider: provider, route: route.name, event: $0) }
                }
                return shaped.event.map { Copy(provider: provider, route: route.name, event: $0) }
            }
        }
    }

    /// Says why the provider does not get the event by this route.
    private static func fate(_ explanation: Explanation, _ route: String, _ provider: String) -> String {
        if let fault = explanation.fault { return "it is no event: \(fault)" }
        guard let route = explanation.routes.first(where: { $0.name == route }) else { return "there is no such route" }
        guard route.outcome == .admitted else { return "\(route.outcome.rawValue): \(route.reason)" }
        guard route.to.contains(provider) else { return "the route does not send there" }
        let shaped = route.shaped.first { $0.provider == provider }
        return "at the hand-over \(shaped?.outcome.rawValue ?? "not sent"): \(shaped?.reason ?? "")"
    }

    /// Describes a difference without its values, so that events that change in the same way are one group.
    private static func words(_ difference: Difference) -> String {
        let path = Words.visible(difference.path.isEmpty ? "the event" : difference.path)
        if difference.actual == nil { return "\(path) is gone" }
        if difference.expected == nil { return "\(path) is new" }
        if difference.expected == .string("(hashed)") { return "\(path) is no longer hashed" }
        if difference.actual == .string("(hashed)") { return "\(path) is hashed" }
        return "\(path) has another value"
    }

    private static func name(_ event: String) -> String {
        if case .string(let name)? = JSONValue(parsing: event)?["event"] { return name }
        if case .string(let name)? = JSONValue(parsing: event)?["type"] { return name }
        return "an event without a name"
    }
}
