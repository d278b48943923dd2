// The texts that `switchyard init` writes. Each configuration passes `check` once its variables are set, and its tests pass as they are.

internal import Document
internal import Plans
internal import Platform

struct FirstFiles {
    enum Kind: String, CaseIterable { case pipe, sidecar, vendor }

    let routes: String
    /// The tests, without what they expect: that is what the routes do when the file is written.
    let tests: String
    /// The variables that the configuration names, each with a text for the tests.
    private let variables: [(name: String, sample: String)]

    init(_ kind: Kind, _ module: ModuleDescription?) {
        switch kind {
        case .pipe: (routes, variables) = (FirstFiles.pipe, [])
        case .sidecar:
            (routes, variables) = (
                FirstFiles.sidecar, [("GATEWAY_URL", "https://gateway.example/v1/events"), FirstFiles.secret("GATEWAY_KEY")]
            )
        case .vendor:
            guard let module else { preconditionFailure("a vendor needs a module") }
            let settings = FirstFiles.settings(module)
            routes = FirstFiles.vendor(module.name, settings.json)
            variables = [FirstFiles.secret("WRITE_KEY"), FirstFiles.secret("ID_KEY")] + settings.variables
        }
        let environment = variables.map { "\(jsonQuoted($0.name)): \(jsonQuoted($0.sample))" }
        tests = FirstFiles.tests(kind, environment)
    }

    /// What to do next, a line each.
    func advice(routes path: String) -> [String] {
        let set = variables.isEmpty ? "" : "set \(variables.map(\.name).joined(separator: ", ")); "
        return ["\(set)then: switchyard check -c \(shellWord(path)); switchyard run -c \(shellWord(path))"]
    }

    private static func secret(_ name: String) -> (name: String, sample: String) { (name, "0123456789abcdef") }

    /// Returns a text for a setting, one that its pattern accepts if the pattern consists of characters and classes.
    private static func sample(_ name: String, _ pattern: String?) -> String {
        if let sample = pattern.flatMap(SampleText.of) { return sample }
        if name.hasSuffix("DSN") { return "https://key@vendor.example/1" }
        return name.hasSuffix("URL") ? "https://vendor.example" : secret(name).sample
    }

    // MARK: - Configurations

    private static let pipe = """
        { "version": 1,
          "providers": { "screen": { "plugin": "console" },
                         "archive": { "plugin": "file", "path": "events-%Y-%m-%d.ndjson", "rotate": { "bytes": "100MB", "keep": 7 } } },
          "routes": [ { "name": "errors", "events": ["error_*", "*_failed"], "to": ["screen"] },
                      { "name": "everything", "transform": [ { "drop": ["context.ip"] } ], "to": ["archive"] } ] }
        """

    private static let sidecar = """
        { "version": 1,
          "message_id": { "add": true },
          "sources": { "app": { "plugin": "http", "listen": "127.0.0.1:8088", "received_at": true } },
          "providers": { "gateway": { "plugin": "http", "url": "${env:GATEWAY_URL}",
                                      "headers": { "Authorization": "Bearer ${env:GATEWAY_KEY}" }, "compression": "gzip",
                                      "delivery": { "queue": { "memory": "16MB", "disk": "500MB", "full": "spill" } } } },
          "routes": [ { "name": "all", "not": { "events": ["debug_*"] }, "to": ["gateway"] } ] }
        """

    private static func vendor(_ name: String, _ settings: [String]) -> String {
        """
        { "version": 1,
          "keys": { "ids": "${env:ID_KEY}" },
          "sources": { "apps": { "plugin": "http", "listen": "127.0.0.1:8088", "dialects": ["segment", "native"],
                                 "keys": { "apps": { "secret": "${env:WRITE_KEY}" } } } },
          "consent": { "levels": { "none": [], "analytics": ["analytics"] }, "unknown": "deny", "default": "analytics", "gpc": ["analytics"] },
          "providers": { \(jsonQuoted(name)): { "plugin": \(jsonQuoted(name)), \(settings.map { $0 + ", " }.joined())
                                               "delivery": { "queue": { "disk": "1GB" } } } },
          "routes": [ { "name": "analytics", "not": { "events": ["debug_*"] },
                        "transform": [ { "drop": ["context.ip", "traits.email"] },
                                       { "hash": { "fields": ["userId"], "key": "ids" } } ], "to": [\(jsonQuoted(name))] } ] }
        """
    }

    /// Returns a value for each setting that the module needs: a variable for text, else the first choice or the least number.
    private static func settings(_ module: ModuleDescription) -> (json: [String], variables: [(name: String, sample: String)]) {
        var json: [String] = []
        var variables: [(name: String, sample: String)] = []
        let needed = module.settings.members.filter(\.required)
        for member in needed {
            guard let value = value(member.schema, "\(module.name)_\(member.name)", &variables) else { continue }
            json.append("\(jsonQuoted(member.name)): \(value)")
        }
        return (json, variables)
    }

    private static func value(_ schema: SettingsSchema, _ name: String, _ variables: inout [(name: String, sample: String)]) -> String? {
        switch schema {
        case .string(let rules):
            if rules.fallback != nil { return nil }
            if let first = rules.oneOf.first { return jsonQuoted(first) }
            let variable = String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
            variables.append((variable, sample(variable, rules.pattern)))
            return jsonQuoted("${env:\(variable)}")
        case .number(let rules): return rules.fallback == nil ? "\(Int(rules.minimum ?? 1))" : nil
        case .boolean(let rules): return rules.fallback == nil ? "false" : nil
        case .list(let item, _): return value(item, name, &variables).map { "[\($0)]" }
        case .object(let rules):
            let members = rules.members.filter(\.required).compactMap { member in
                value(member.schema, "\(name)_\(member.name)", &variables).map { "\(jsonQuoted(member.name)): \($0)" }
            }
            return "{\(members.joined(separator: ", "))}"
        case .either(let choices, _): return choices.first.flatMap { value($0, name, &variables) }
        }
    }

    // MARK: - Tests

    private static func tests(_ kind: Kind, _ environment: [String]) -> String {
        let purchase = #"{ "type": "track", "event": "purchase", "messageId": "m-1", "userId": "u-1", "properties": { "price": 10 }"#
        let events: [(String, String)] =
            switch kind {
            case .pipe:
                [
                    ("a purchase is archived without its address", purchase + #", "context": { "ip": "203.0.113.9" } }"#),
                    ("an error goes to the screen too", #"{ "type": "track", "event": "error_shown", "messageId": "m-2" }"#),
                ]
            case .sidecar:
                [
                    ("an event goes to the gateway as it came", purchase + " }"),
                    ("debug output stays here", #"{ "type": "track", "event": "debug_dump", "messageId": "m-2" }"#),
                ]
            case .vendor:
                [
                    (
                        "with consent an event goes out without its address, and the person is hashed",
                        purchase + #", "context": { "ip": "203.0.113.9", "consent": { "level": "analytics" } } }"#
                    ), ("without consent nothing goes out", purchase + " }"),
                    ("debug output stays here", #"{ "type": "track", "event": "debug_dump", "messageId": "m-2" }"#),
                ]
            }
        let tests = events.map { "{ \"name\": \(jsonQuoted($0)), \"event\": \($1) }" }.joined(separator: ", ")
        return "{ \(environment.isEmpty ? "" : "\"environment\": { \(environment.joined(separator: ", ")) }, ")\"tests\": [ \(tests) ] }"
    }
}
