/// A generator of numbers that look random and are the same in every run with the same seed (SplitMix64).
public struct Seeded: RandomNumberGenerator, Sendable {
    public var state: UInt64

    public init(state: UInt64) { self.state = state }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }

    /// Returns a number from 0 to `bound` - 1.
    public mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// Returns an element of a list that is not empty.
    public mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }

    /// Returns a set that contains each element of the range with a probability of one in `share`.
    public mutating func subset(of range: ClosedRange<Int>, oneIn share: Int) -> Set<Int> {
        Set(range.filter { _ in below(share) == 0 })
    }
}
