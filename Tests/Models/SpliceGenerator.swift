import Editing
import Events
import Seeded

/// Makes random events with few members, and random operations on these members.
struct SpliceGenerator {
    var random: Seeded
    var isSpaced: Bool

    /// The keys that transforms name. The second spelling can have an escape.
    static let keys = [("a", #"\u0061"#), ("b", "b"), ("user id", #"user\u0020id"#), ("d\"", #"d\u0022"#)]
    static let scalars = [
        "1", "-0", "1.0", "1E400", "9007199254740993", "true", "false", "null", #""""#, #""text""#, #""t\u0065xt""#, #""\ud83d\ude97""#,
        #""lone \ud800""#, #""a\"b\\""#, #""é €""#, #""{\"a\":1}""#,
    ]

    mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }
    mutating func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
    mutating func space() -> String { isSpaced ? pick(["", "", " ", "  ", "\t"]) : "" }

    mutating func value(_ depth: Int) -> String {
        if depth > 0, chance(2) { return object(depth - 1) }
        if chance(6) { return "[\(space())\(value(0)),{\"a\":1}\(space())]" }
        return pick(SpliceGenerator.scalars)
    }

    mutating func object(_ depth: Int) -> String {
        var keys: [String] = []
        for (plain, escaped) in SpliceGenerator.keys.shuffled(using: &random) where chance(2) || chance(2) {
            keys.append(chance(5) ? escaped : plain.contains("\"") ? #"d\""# : plain)
        }
        // Add members that no transform names. A key can occur twice.
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            keys.insert(pick(["x", "y", ""]), at: Int.random(in: 0...keys.count, using: &random))
        }
        if chance(8) { keys = [] }
        var text = "{" + space()
        for (i, key) in keys.enumerated() {
            if i > 0 { text += space() + "," + space() }
            text += "\"\(key)\"\(space()):\(space())\(value(depth))"
        }
        return text + space() + "}"
    }

    mutating func path() -> Path {
        Path(keys: (0..<pick([1, 1, 1, 2, 2, 3])).map { _ in pick(SpliceGenerator.keys).0 })
    }

    mutating func constant() -> String {
        pick(SpliceGenerator.scalars + [#"{"a":1,"b":{"user id":"u","a":null}}"#, "{}", #"["a",{"b":1}]"#, #"{"b":"text"}"#])
    }

    mutating func paths() -> [Path] { (0..<Int.random(in: 1...3, using: &random)).map { _ in path() } }

    mutating func step() -> any Step {
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return KeepStep(paths() + paths())
        case 1: return RenameStep([(path: path(), name: pick(SpliceGenerator.keys).0)])
        case 2, 3:
            var (from, to) = (path(), path())
            while to.keys.count > from.keys.count && to.keys.starts(with: from.keys) { (from, to) = (path(), path()) }
            return MoveStep([(from: from, to: to)])
        case 4: return DefaultStep([(path(), .json(constant())), (path(), .json(constant()))])
        case 5: return GeoStep(paths(), keep: [pick(SpliceGenerator.keys).0, pick(SpliceGenerator.keys).0])
        default: return LimitStep([(path: path(), most: Int.random(in: 0...5, using: &random))])
        }
    }

    mutating func transforms() -> [any Step] {
        (0..<Int.random(in: 0...5, using: &random)).map { _ in
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: return DropStep((0..<Int.random(in: 1...3, using: &random)).map { _ in path() })
            case 2, 3: return SetStep(constants: (0..<Int.random(in: 1...2, using: &random)).map { _ in (path(), constant()) })
            default: return HashStep([path()], key: Int.random(in: 0..<2, using: &random))
            }
        }
    }
}
