// Digits in groups, as the rules of national ids read them: the digits, the lengths of the groups, and the marks between them.

struct IDNumber {
    static let most = 18

    private var value: UInt64 = 0
    private(set) var count = 0
    /// The length of each group as one hexadecimal digit.
    private(set) var shape: UInt64 = 0
    private(set) var groups = 0
    /// The mark between all groups. It is 0 if there is one group, and 0xff if the marks differ.
    private(set) var mark: UInt8 = 0

    var isBare: Bool { groups == 1 }
    var isSpaced: Bool { mark == UInt8(ascii: " ") }
    var isHyphenated: Bool { mark == UInt8(ascii: "-") }

    /// Reads a group and moves i past it. Returns false if there are more digits than any id has.
    mutating func readGroup(_ text: Subject, _ i: inout Int) -> Bool {
        let start = i
        while text.isDigit(i) {
            guard count < IDNumber.most else { return false }
            value = value * 10 + UInt64(text[i] - 0x30)
            count += 1
            i += 1
        }
        groups += 1
        shape = shape << 4 | UInt64(min(15, i - start))
        return groups <= 8
    }

    /// Notes the mark before the next group. Returns true, since every mark may follow every other.
    mutating func addMark(_ c: UInt8) -> Bool {
        mark = mark == 0 || mark == c ? c : 0xff
        return true
    }

    /// The digit at a position, counted from 0 at the left.
    subscript(i: Int) -> Int {
        assert((0..<count).contains(i), "there is no such digit")
        return Int(value / IDNumber.powers(count - 1 - i) % 10)
    }

    /// The value of `length` digits from a position on.
    func part(_ from: Int, _ length: Int) -> Int {
        assert(from + length <= count, "there are fewer digits")
        return Int(value / IDNumber.powers(count - from - length) % IDNumber.powers(length))
    }

    /// The sum of the digits from the left, each times its weight, which is a hexadecimal digit.
    func sum(_ weights: StaticString) -> Int {
        assert(weights.utf8CodeUnitCount <= count, "there are fewer digits than weights")
        var sum = 0
        for i in 0..<weights.utf8CodeUnitCount {
            let c = weights.utf8Start[i]
            sum += self[i] * Int(Byte.isDigit(c) ? c - 0x30 : c - 0x57)
        }
        return sum
    }

    /// Returns true if a month and a day are possible.
    static func isDate(month: Int, day: Int) -> Bool { (1...12).contains(month) && (1...31).contains(day) }

    private static func powers(_ n: Int) -> UInt64 {
        var power: UInt64 = 1
        for _ in 0..<n { power *= 10 }
        return power
    }
}
