import Events
import Expressions
import Plans
import Redaction

/// Makes random steps of every kind, and members of events that these steps change.
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

    /// The expressions of the steps. They are compiled once for each chooser.
    private static var expressions: [Expression] {
        ["n * 2", "mail.lowerAscii()", "note + string(n)", "b.c", "size(list) > 1", "'x'", "type", "[n, a]", "{'k': geo}", "now"]
            .map { try! Expression($0) }
    }
    private static var masks: [Mask] {
        [("[0-9]+", "#"), ("(\\w)(\\w*)", "\\2\\1"), ("bob", "\"\\\\")].map { try! Mask(pattern: $0.0, with: $0.1) }
    }

    private let expressions = Self.expressions
    private let masks = Self.masks

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

    mutating func path() -> Path { try! Path(parsing: pick(Self.names)) }
    mutating func paths() -> [Path] { (0...below(3)).map { _ in path() } }

    mutating func transforms() -> [TransformPlan] { (0..<below(5)).map { _ in transform() } }

    mutating func transform() -> TransformPlan {
        switch below(22) {
        case 0: .drop(paths())
        case 1, 2: .set([(path(), value()), (path(), value())])
        case 3: .hash([path()], key: 0)
        case 4: .step(.keep(paths() + [Path(keys: ["event"]), Path(keys: ["context"]), path(), path()]))
        case 5: .step(.move([rename(), move()]))
        case 6: .step(.move([move()]))
        case 7, 8: .step(.compute([computed(), computed()], onlyWhereLacking: false))
        case 9: .step(.compute([computed(), computed()], onlyWhereLacking: true))
        case 10: .step(.changes([(path(), change()), (path(), change())]))
        case 11: .step(.scrub(Scrub(action: pick([.reject, .replace])), in: paths()))
        case 12: .step(.scrub(Scrub(kinds: SensitiveSet(pick(Sensitive.allCases)), action: .reject), in: []))
        case 13: .step(.scrub(Scrub(action: .drop), in: pick([[], paths()])))
        case 14, 15: .step(.scrub(Scrub(), in: []))
        case 16: .step(.mask(pick(masks), in: pick([[], paths()])))
        default: .step(.change(paths(), change()))
        }
    }

    private mutating func rename() -> (from: Path, to: Path) {
        let from = path()
        return (from, Path(keys: from.keys.dropLast() + [pick(["a", "b", "new", "c"])]))
    }

    private mutating func move() -> (from: Path, to: Path) {
        while true {
            let (from, to) = (path(), path())
            if to.keys.count <= from.keys.count || !to.keys.starts(with: from.keys) { return (from, to) }
        }
    }

    private mutating func computed() -> (path: Path, value: ComputedValue) {
        (path(), below(3) == 0 ? .json(value()) : .expression(pick(expressions)))
    }

    private mutating func change() -> ValueChange {
        switch below(9) {
        case 0: .hash(key: 0, name: pick([nil, "ids"]), digits: pick([8, 16, 64]))
        case 1: .bin(pick([["0", "100", "500"], ["0.5", "1.5"], ["7"]]))
        case 2: .round(pick(["10", "0.25", "3", "1.000000001"]))
        case 3: .roundTime(pick(ValueChange.TimeUnit.allCases))
        case 4: .truncateIP(v4: pick([0, 24, 32]), v6: pick([0, 48, 128]))
        case 5: .limit(below(6))
        case 6: .lower
        case 7: .pick(pick([["country"], ["c", "w", "k"]]))
        default: .flatten
        }
    }
}
