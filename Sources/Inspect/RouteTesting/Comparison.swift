// Compares an explanation with what a test expects, and writes an explanation as an expectation. Both see only masked events.

internal import Document
public import Explaining

/// The result of one test: it has passed if nothing differs.
public struct TestResult: Sendable {
    public var name: String
    /// What differs, in a sentence each.
    public var failures: [String]

    public init(name: String, failures: [String]) {
        self.name = name
        self.failures = failures
    }
}

/// What a module would send for the event of a route, as JSON.
public struct WireEntry: Sendable {
    public var route: String
    public var provider: String
    public var json: String

    public init(route: String, provider: String, json: String) {
        self.route = route
        self.provider = provider
        self.json = json
    }
}

extension Expectation {
    /// The routes and providers whose module must be asked what it would send.
    public var wires: [(route: String, provider: String)] {
        (routes ?? []).flatMap { route in
            route.value.providers.filter { $0.value.wire != nil }.map { (route.key, $0.key) }
        }
    }

    /// Returns what differs from the explanation, in the order of the plan.
    public func failures(_ explanation: Explanation, wires: [WireEntry]) -> [String] {
        if fault != nil || explanation.fault != nil, fault != explanation.fault {
            return [
                Self.differs("the line", fault.map { "no event: \($0)" } ?? "an event", explanation.fault.map { "none: \($0)" } ?? "one")
            ]
        }
        var failures: [String] = []
        if let routes {
            for route in explanation.routes {
                if let expected = routes.first(where: { $0.key == route.name })?.value {
                    failures += expected.failures(route, wires)
                } else if route.outcome != .filtered, explanation.fault == nil {
                    failures.append("route \(route.name): expected not to take the event, \(Self.told(route.outcome, route.reason))")
                }
            }
        }
        if let emits, emits != explanation.emitted ?? [] {
            failures.append(Self.differs("emits", Self.list(emits), Self.list(explanation.emitted ?? [])))
        }
        return failures.map(Words.visible)
    }

    static func differs(_ what: String, _ expected: String, _ actual: String) -> String { "\(what): expected \(expected), is \(actual)" }

    static func told(_ outcome: Explanation.Outcome, _ reason: String) -> String { "is \(outcome.rawValue): \(reason)" }

    static func list(_ names: [String]) -> String { names.isEmpty ? "none" : Words.all(names) }
}

extension Expectation.Route {
    fileprivate func failures(_ route: Explanation.Route, _ wires: [WireEntry]) -> [String] {
        let name = "route \(route.name)"
        guard verdict == route.outcome else {
            return ["\(name): expected \(verdict.rawValue), \(Expectation.told(route.outcome, route.reason))"]
        }
        var failures: [String] = []
        if let reason, reason != route.reason {
            failures.append(Expectation.differs("\(name), reason", "'\(reason)'", "'\(route.reason)'"))
        }
        if let to, Set(to) != Set(route.to) {
            failures.append(Expectation.differs("\(name), to", Expectation.list(to), Expectation.list(route.to)))
        }
        failures += Expectation.differences(event, route.event, in: "\(name), event")
        for (provider, expected) in providers {
            let place = "\(name), provider \(provider)"
            let shaped = route.shaped.first { $0.provider == provider }
            // A provider without a filter and a transform gets the copy of the route as it is.
            let outcome = shaped?.outcome ?? route.outcome
            let reason = shaped?.reason ?? route.reason
            guard expected.verdict == outcome else {
                failures.append("\(place): expected \(expected.verdict.rawValue), \(Expectation.told(outcome, reason))")
                continue
            }
            if let wanted = expected.reason, wanted != reason {
                failures.append(Expectation.differs("\(place), reason", "'\(wanted)'", "'\(reason)'"))
            }
            failures += Expectation.differences(expected.event, shaped == nil ? route.event : shaped?.event, in: "\(place), event")
            if let wire = expected.wire {
                let actual = wires.first { $0.route == route.name && $0.provider == provider }?.json
                failures += Expectation.differences(wire, actual, in: "\(place), wire")
            }
        }
        return failures
    }
}

extension Expectation {
    /// Returns where a text of JSON differs from the value. Nothing differs if no value is expected.
    fileprivate static func differences(_ expected: JSONValue?, _ actual: String?, in place: String) -> [String] {
        guard let expected else { return [] }
        guard let text = actual, let value = JSONValue(parsing: text) else { return ["\(place): expected one, there is none"] }
        return expected.differences(from: value).map { "\(place): \($0.description)" }
    }

    // MARK: - Writing

    /// Returns the explanation as the value of `expect`, on one line. Routes that filter the event out are left out, reasons are written where
    /// an event is refused, and `wires` has what modules were asked.
    public static func json(of explanation: Explanation, wires: [WireEntry]) -> String {
        if let fault = explanation.fault { return JSONText.object([("fault", JSONText.quoted(fault))]) }
        let routes = explanation.routes.filter { $0.outcome != .filtered }.map { route in
            (name: route.name, json: json(of: route, wires.filter { $0.route == route.name }))
        }
        var members = [(name: "routes", json: JSONText.object(routes))]
        if let emitted = explanation.emitted, !emitted.isEmpty { members.append(("emits", JSONText.list(emitted.map(JSONText.quoted)))) }
        return JSONText.object(members)
    }

    private static func json(of route: Explanation.Route, _ wires: [WireEntry]) -> String {
        guard route.outcome == .admitted else {
            return JSONText.object([("verdict", JSONText.quoted(route.outcome.rawValue)), ("reason", JSONText.quoted(route.reason))])
        }
        var members = [(name: "to", json: JSONText.list(route.to.map(JSONText.quoted)))]
        if let event = route.event { members.append(("event", event)) }
        var providers: [(name: String, json: String)] = []
        for name in route.to {
            var own: [(name: String, json: String)] = []
            if let shaped = route.shaped.first(where: { $0.provider == name }) {
                if shaped.outcome == .admitted {
                    if let event = shaped.event { own.append(("event", event)) }
                } else {
                    own = [("verdict", JSONText.quoted(shaped.outcome.rawValue)), ("reason", JSONText.quoted(shaped.reason))]
                }
            }
            if let wire = wires.first(where: { $0.provider == name }) { own.append(("wire", wire.json)) }
            if !own.isEmpty { providers.append((name, JSONText.object(own))) }
        }
        if !providers.isEmpty { members.append(("providers", JSONText.object(providers))) }
        return JSONText.object(members)
    }
}
