// Finds the lists of globs that match a name, with one look at the name for all lists. Exact names are found by their text, and globs that
// begin with a text by that text; all others are tried one after the other. A glob that is in several lists is tried once. A list is found
// exactly if `Globs.match` of that list is true.

public import Events
public import Plans

public struct GlobIndex: BitwiseCopyable {
    /// The rules of all globs, and for each the lists that have it.
    private let rules: UnsafeBufferPointer<GlobRule>
    private let lists: UnsafeBufferPointer<UnsafeBufferPointer<Int>>
    /// The globs by their names and by their beginnings. The numbers are indices of globs.
    private let names: ByteTable
    private let beginnings: ByteTable
    /// The lengths of the beginnings, in rising order.
    private let lengths: UnsafeBufferPointer<Int>
    /// The globs that begin with a star.
    private let others: UnsafeBufferPointer<Int>

    public init(_ lists: [[Glob]], in store: Store) {
        var places: [[[UInt8]]: Int] = [:]
        var distinct: [(glob: Glob, lists: [Int])] = []
        for (list, globs) in lists.enumerated() {
            for glob in globs {
                let place = places[glob.pieces, default: distinct.count]
                if place == distinct.count {
                    places[glob.pieces] = place
                    distinct.append((glob, []))
                }
                if distinct[place].lists.last != list { distinct[place].lists.append(list) }
            }
        }
        var names = ByteTable.Lists()
        var beginnings = ByteTable.Lists()
        var lengths: Set<Int> = []
        var others: [Int] = []
        for (place, one) in distinct.enumerated() {
            let first = one.glob.pieces.first ?? []
            if one.glob.pieces.count <= 1 {
                names.add(place, under: first)
            } else if first.isEmpty {
                others.append(place)
            } else {
                let length = GlobIndex.length(for: first.count)
                lengths.insert(length)
                beginnings.add(place, under: Array(first[..<length]))
            }
        }
        rules = store.list(distinct.map { GlobRule($0.glob, in: store) })
        self.lists = store.list(distinct.map { store.list($0.lists) })
        self.names = ByteTable(names, in: store)
        self.beginnings = ByteTable(beginnings, in: store)
        self.lengths = store.list(lengths.sorted())
        self.others = store.list(others)
    }

    /// Returns the number of bytes by which a glob is found that begins with so many. Long beginnings share few lengths, since every length
    /// is a look-up.
    private static func length(for count: Int) -> Int {
        if count <= 8 { return count }
        var length = 8
        while length < 64, length + length / 2 <= count { length += length / 2 }
        return length
    }

    /// Writes the indices of the matching lists to `found`, which has space for all lists, and returns their number. `isFound` has a flag
    /// for each list; all are false before and after.
    @inline(never) public func find(_ name: ByteRun, isFound: UnsafeMutablePointer<Bool>, found: UnsafeMutablePointer<Int>) -> Int {
        var count = 0
        for place in names.numbers(under: name) { add(place, isFound, found, &count) }
        for length in lengths {
            guard length <= name.count else { break }
            for place in beginnings.numbers(under: ByteRun(base: name.base, count: length)) {
                if GlobRule.matches(rules.baseAddress! + place, name) { add(place, isFound, found, &count) }
            }
        }
        for place in others where GlobRule.matches(rules.baseAddress! + place, name) {
            add(place, isFound, found, &count)
        }
        for i in 0..<count { isFound[found[i]] = false }
        return count
    }

    @inline(__always) private func add(
        _ place: Int, _ isFound: UnsafeMutablePointer<Bool>, _ found: UnsafeMutablePointer<Int>, _ count: inout Int
    ) {
        for list in lists[place] where !isFound[list] {
            isFound[list] = true
            found[count] = list
            count += 1
        }
    }
}
