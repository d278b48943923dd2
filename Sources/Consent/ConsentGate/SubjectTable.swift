// A number for each of many subjects, for one who writes and any number who read at the same time without waiting. It promises that to look
// for a subject, in it or not, costs one line of the processor's cache in all but a few cases, and that the line can be asked for ahead.

internal import Admission
internal import CPlatform
internal import Glibc

/// Open addressing by groups of three places, each group a line. A key never changes once it is counted, and is never taken out.
struct SubjectTable: BitwiseCopyable {
    /// The keys, the low half of each before the high one; the numbers; and how many of the places are taken, with a mark once a subject
    /// found none and went on.
    private enum Group {
        static let size = 64
        static let places = 3
        static let numbers = 48
        static let state = 60
        static let overflown: UInt32 = 1 << 8
    }

    private let memory: Memory
    private let groups: UnsafeMutableRawPointer
    private let count: Int

    /// How many subjects it takes: more, and too many would find no place in their group.
    var room: Int { count * 9 / 5 }

    /// `room`: for so many subjects at least.
    init(room: Int) {
        count = max(16, room * 5 / 9 + 1)
        memory = Memory(size: count * Group.size)
        groups = memory.start
    }

    func deallocate() { memory.release() }

    // MARK: - For those who read

    /// It will be asked for soon.
    @inline(__always) func prepare(_ key: SubjectKey) { cplatform_prefetch(group(of: key)) }

    /// The number of the subject; nil: it is not in the table.
    @inline(__always) func number(of key: SubjectKey) -> UInt32? { find(key).map { cplatform_load($0) } }

    @inline(__always) private func find(_ key: SubjectKey) -> UnsafeMutablePointer<UInt32>? {
        var group = group(of: key)
        while true {
            let state = cplatform_load(SubjectTable.state(of: group))
            // All places at once, since a branch for each would be foretold wrongly too often. Nobody may be there yet, so it is peeked.
            let words = UnsafePointer(group.assumingMemoryBound(to: UInt64.self))
            let first = cplatform_peek(words) == key.low ? 1 : 0
            let second = cplatform_peek(words + 2) == key.low ? 2 : 0
            let third = cplatform_peek(words + 4) == key.low ? 4 : 0
            var candidates = (first | second | third) & (1 &<< Int(state & 0xff) &- 1)
            while candidates != 0 {
                let place = candidates.trailingZeroBitCount
                if words[2 &* place &+ 1] == key.high { return SubjectTable.number(place, in: group) }
                candidates &= candidates &- 1
            }
            if state & Group.overflown == 0 { return nil }
            group = next(group)
        }
    }

    // MARK: - For the one who writes

    /// Whether the subject is in the table, and has this number now.
    func change(_ key: SubjectKey, to number: UInt32) -> Bool {
        guard let place = find(key) else { return false }
        cplatform_store(place, number)
        return true
    }

    /// Of a subject that is not in the table, which has room.
    func insert(_ key: SubjectKey, _ number: UInt32) {
        var group = group(of: key)
        while SubjectTable.state(of: group).pointee & 0xff == Group.places {
            cplatform_store(SubjectTable.state(of: group), SubjectTable.state(of: group).pointee | Group.overflown)
            group = next(group)
        }
        let state = SubjectTable.state(of: group)
        let place = Int(state.pointee & 0xff)
        let words = group.assumingMemoryBound(to: UInt64.self)
        cplatform_poke(words + 2 * place, key.low)
        words[2 * place + 1] = key.high
        SubjectTable.number(place, in: group).pointee = number
        cplatform_store(state, state.pointee + 1)
    }

    // MARK: - Where things are

    @inline(__always) private func group(of key: SubjectKey) -> UnsafeMutableRawPointer {
        groups + Int(truncatingIfNeeded: key.low.multipliedFullWidth(by: UInt64(truncatingIfNeeded: count)).high) &* Group.size
    }

    @inline(__always) private func next(_ group: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
        let next = group + Group.size
        return next == groups + count &* Group.size ? groups : next
    }

    @inline(__always) private static func state(of group: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt32> {
        (group + Group.state).assumingMemoryBound(to: UInt32.self)
    }

    @inline(__always) private static func number(_ place: Int, in group: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt32> {
        (group + Group.numbers).assumingMemoryBound(to: UInt32.self) + place
    }
}

/// Zeros, from the kernel and on large pages where it has some: otherwise the processor would look for the page longer than for what is on it.
private struct Memory: BitwiseCopyable {
    private static let page = 2 << 20
    private let base: UnsafeMutableRawPointer
    private let size: Int
    let start: UnsafeMutableRawPointer

    init(size: Int) {
        let isLarge = size >= Memory.page
        self.size = isLarge ? size + Memory.page : size
        base = mmap(nil, self.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        precondition(base != MAP_FAILED, "no memory for what is on record of subjects")
        start = isLarge ? base.alignedUp(toMultipleOf: Memory.page) : base
        if isLarge { madvise(start, size, MADV_HUGEPAGE) }
    }

    func release() { munmap(base, size) }
}
