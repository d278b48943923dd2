// The consent section, compiled: its levels, its purposes, and the signals that state consent in events. It is plain data in the memory of a
// store, and answers by names and sets of purposes.

internal import Admission
internal import Events
internal import Plans

struct ConsentRules: BitwiseCopyable {
    struct Level: BitwiseCopyable {
        let name: ByteRun
        let purposes: Purposes
    }

    /// Another name for one or more purposes.
    struct Alias: BitwiseCopyable {
        let name: ByteRun
        let purposes: Purposes
    }

    let signals: CompiledSignals
    let levels: UnsafeBufferPointer<Level>
    /// True if the levels name purposes. If not, levels and purposes are independent.
    let levelsHavePurposes: Bool
    /// The names of the purposes, sorted by length, then by bytes. The index is the bit of the purpose.
    let names: UnsafeBufferPointer<ByteRun>
    /// The aliases, sorted by name like `names`.
    let aliases: UnsafeBufferPointer<Alias>
    /// The number of words in a set of purposes.
    let width: Int
    /// The empty set.
    let nothing: Purposes
    /// The purposes that Global Privacy Control refuses, and whether there are any.
    let gpc: Purposes
    let gpcRefuses: Bool
    /// The assumptions about unknown subjects.
    var unknown: UnknownRules
    /// The least version of the text that must have been consented to. It is empty if any version counts.
    private let minimumVersion: ByteRun

    /// Compiles the section. `compile` compiles the signals.
    init(
        _ plan: ConsentPlan, demands: [ConsentDemand], slot: @escaping (Path) -> Int, in store: Store,
        signals compile: (ConsentMapCompiler) -> CompiledSignals
    ) {
        var all: Set<[UInt8]> = []
        for level in plan.levels { all.formUnion((level.purposes ?? []).map { Array($0.utf8) }) }
        for demand in demands { all.formUnion(demand.purposes.map { Array($0.utf8) }) }
        all.formUnion((plan.gpc ?? []).map { Array($0.utf8) })
        all.formUnion(plan.map.purposes.map { Array($0.utf8) })
        let sorted = ConsentRules.sorted(all)
        precondition(!plan.levels.isEmpty, "a consent section has no level")
        names = store.list(sorted.map(store.text))
        width = max(1, (sorted.count + 63) / 64)
        nothing = store.list([UInt64](repeating: 0, count: width)).baseAddress!
        levelsHavePurposes = plan.levels.contains { $0.purposes != nil }
        let width = self.width
        func set(_ purposes: [String]) -> Purposes { ConsentRules.set(purposes, names: sorted, width: width, store: store) }
        levels = store.list(
            plan.levels.map { Level(name: store.text(Array($0.name.utf8)), purposes: set($0.purposes ?? [])) })
        let meanings = Dictionary(
            grouping: plan.map.categories.flatMap { entry in entry.meaning.map { (name: $0, purpose: entry.purpose) } }, by: \.name)
        aliases = store.list(
            ConsentRules.sorted(meanings.keys.map { Array($0.utf8) }).map { name in
                let purposes = meanings[String(decoding: name, as: UTF8.self)]?.map(\.purpose) ?? []
                return Alias(name: store.text(name), purposes: set(purposes))
            })
        signals = compile(ConsentMapCompiler(plan: plan.map, purposes: sorted, store: store, slot: slot))
        gpc = plan.gpc.map(set) ?? ConsentRules.all(sorted.count, width: width, store: store)
        gpcRefuses = plan.gpc.map { !$0.isEmpty } ?? true
        unknown = UnknownRules(plan, slot: plan.unknownBy.map { slot($0.path) } ?? 0, in: store)
        minimumVersion = store.text(Array((plan.minimumVersion ?? "").utf8))
    }

    /// True if consent to a text of this version counts.
    func isRecent(_ version: String?) -> Bool {
        guard minimumVersion.count > 0 else { return true }
        return version.map { !NaturalOrder.precedes(Array($0.utf8), Array(minimumVersion.bytes)) } ?? false
    }

    func set(_ purposes: [String], in store: Store) -> Purposes {
        ConsentRules.set(purposes, names: names.map { Array($0.bytes) }, width: width, store: store)
    }

    private static func set(_ purposes: [String], names: [[UInt8]], width: Int, store: Store) -> Purposes {
        var words = [UInt64](repeating: 0, count: width)
        for purpose in purposes {
            guard let bit = names.firstIndex(of: Array(purpose.utf8)) else { preconditionFailure("a purpose has no bit") }
            words[bit / 64] |= 1 << UInt64(bit % 64)
        }
        return store.list(words).baseAddress!
    }

    private static func sorted(_ names: some Sequence<[UInt8]>) -> [[UInt8]] {
        names.sorted { $0.count != $1.count ? $0.count < $1.count : $0.lexicographicallyPrecedes($1) }
    }

    private static func all(_ count: Int, width: Int, store: Store) -> Purposes {
        var words = [UInt64](repeating: 0, count: width)
        for bit in 0..<count { words[bit / 64] |= 1 << UInt64(bit % 64) }
        return store.list(words).baseAddress!
    }

    /// Returns the bit of a purpose, or nil if the plan does not name it.
    func purpose(_ name: ByteRun) -> Int? { ConsentRules.find(name, among: names.count) { names[$0] } }

    /// Returns the purposes that the map gives to a name, or nil if the map does not have the name.
    func alias(_ name: ByteRun) -> Purposes? {
        aliases.isEmpty ? nil : ConsentRules.find(name, among: aliases.count) { aliases[$0].name }.map { aliases[$0].purposes }
    }

    @inline(__always) private static func find(_ name: ByteRun, among count: Int, _ known: (Int) -> ByteRun) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let order = ConsentRules.compare(known(middle), name)
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    private static func compare(_ a: ByteRun, _ b: ByteRun) -> Int {
        guard a.count == b.count else { return a.count - b.count }
        for i in 0..<a.count where a.base[i] != b.base[i] { return Int(a.base[i]) - Int(b.base[i]) }
        return 0
    }

    func level(_ name: ByteRun) -> Int? { levels.firstIndex { $0.name == name } }

    @inline(__always) func contains(_ granted: Purposes, _ demanded: Purposes) -> Bool {
        for i in 0..<width where demanded[i] & ~granted[i] != 0 { return false }
        return true
    }

    /// True if a purpose is in both sets.
    func meet(_ a: Purposes, _ b: Purposes) -> Bool { (0..<width).contains { a[$0] & b[$0] != 0 } }

    /// Returns the highest level whose purposes are all granted.
    @inline(__always) func amount(_ granted: Purposes) -> Int {
        var level = levels.count - 1
        while level > 0, !contains(granted, levels[level].purposes) { level -= 1 }
        return level
    }
}
