import Document
import Editing
import Events
import FormReading

extension StepDeclaration {
    /// Reads the settings of the operation, as routes.json would. There is one key, `ids`. Returns nil if the settings are invalid.
    func read(_ settings: String) -> (any Step)? {
        let source = Source(Array(settings.utf8))
        let placeholders = Placeholders(environment: { _ in nil }, contents: { _ in .success([]) })
        guard let (node, faults) = try? Outline.read(source, resolving: placeholders) else { return nil }
        let reading = Reading(source, faults: faults)
        reading.keys = ["ids": 0]
        guard let step = form.read(node, reading), reading.faults.isEmpty else { return nil }
        return step
    }
}

/// Makes random steps of every kind from the samples that the operations declare, and members of events that these steps change.
struct StepChooser<Chance: RandomNumberGenerator> {
    var random: Chance

    /// The paths of the steps. Most of their keys differ from those of the members that consent and the filters read.
    static var names: [String] {
        [
            "a", "n", "userId", "mail", "ip", "at", "geo", "list", "note", "b", "b.c", "b.d.e", "context.x", "context.ip", "new",
            "new.deep", "type",
        ]
    }

    private static var values: [String] {
        [
            "1", "-45", "2.5", "1e3", "1E400", "true", "null", #""""#, #""10.1.2.3""#, #""2001:db8:1:2::3""#, #""bob@example.org""#,
            #""Bob <bob\u0040x.org>, 10.0.0.1""#, #""4111 1111 1111 1111""#, #""Bearer abcdefgh1""#, #""2026-02-28T23:59:59.5+01:00""#,
            #""2026-02-30""#, "1795257753", "1795257753000", "8999999999999999", "-9e18", #""321""#, #""\ud83d\ude97\u00e9\ud800""#,
            #""ÄÖ \"x\"""#, "[]", "{}",
            #"["a",1,{"k":"bob@x.org"}]"#, #"{"country":"DE","city":"Bremen"}"#, #"{"c":{"w":3},"d":{"e":"10.1.2.3"},"bob@x.org":1}"#,
            #"{"[email]":1,"bob@x.org":2}"#, #"{"bob@x.org":1,"eve@x.org":2}"#,
        ]
    }

    private static var expressions: [String] {
        ["n * 2", "mail.lowerAscii()", "note + string(n)", "b.c", "size(list) > 1", "'x'", "type", "[n, a]", "{'k': geo}", "now"]
    }

    private static var keys: [String] { ["a", "b", "new", "c", "country"] }

    init(_ random: Chance) { self.random = random }

    mutating func below(_ n: Int) -> Int { Int.random(in: 0..<n, using: &random) }
    mutating func pick<T>(_ items: [T]) -> T { items[below(items.count)] }

    // MARK: - Events

    /// Returns members of an event in random order. No key occurs twice, and none is one of the given names.
    mutating func members(without taken: Set<String> = []) -> [String] {
        let keys = Self.names.filter { !$0.contains(".") && !taken.contains($0) } + ["bob@example.org", "[email]", "plain"]
        return keys.shuffled(using: &random).prefix(below(8)).map { "\"\($0)\":\(pick(Self.values))" }
    }

    mutating func value() -> String { pick(Self.values) }

    // MARK: - Steps

    mutating func transforms() -> [any Step] { (0..<below(5)).map { _ in transform() } }

    mutating func transform() -> any Step {
        while true {
            let declaration = pick(StepDeclaration.all)
            if let step = declaration.read(settings(pick(declaration.samples))) { return step }
        }
    }

    /// Returns the sample with random texts in its places.
    private mutating func settings(_ sample: String) -> String {
        var settings = ""
        var rest = sample[...]
        while let quote = rest.firstRange(of: "\"$") {
            settings += rest[..<quote.lowerBound]
            rest = rest[quote.upperBound...]
            let end = rest.firstIndex(of: "\"")!
            switch rest[..<end] {
            case "path": settings += "\"\(pick(Self.names))\""
            case "key": settings += "\"\(pick(Self.keys))\""
            case "value": settings += value()
            case "expression": settings += "\"\(pick(Self.expressions))\""
            default: preconditionFailure("\(rest[..<end]) is not a place of a sample")
            }
            rest = rest[rest.index(after: end)...]
        }
        return settings + rest
    }
}
