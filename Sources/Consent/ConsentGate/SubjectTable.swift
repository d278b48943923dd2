// A table with a number for each subject, for one writer and any number of readers that do not wait. It promises that a lookup costs one
// cache line in nearly all cases, whether it finds the subject or not. The line can be prefetched.

internal import Admission
internal import CPlatform
internal import Glibc

/// Open addressing with groups of three places; each group is one cache line. A key never changes once it is counted, and is never removed.
struct SubjectTable: BitwiseCopyable {
    /// The layout of a group: the keys, each with its low half first; the numbers; and the number of taken places, with a flag that is set
    /// once a subject found no place and was put into a later group.
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

    /// The number of subjects that the table takes. With more, too many subjects would overflow their group.
    var capacity: Int { count * 9 / 5 }

    /// Makes a table for at least `capacity` subjects.
    init(capacity: Int) {
        count = max(16, capacity * 5 / 9 + 1)
        memory = Memory(size: count * Group.size)
        groups = memory.start
    }

    func deallocate() { memory.release() }

    // MARK: - For readers

    /// Prefetches the group of a subject that will be looked up soon.
    @inline(__always) func prepare(_ key: SubjectKey) { cplatform_prefetch(group(of: key)) }

    /// Returns the number of the subject, or nil if it is not in the table.
    @inline(__always) func number(of key: SubjectKey) -> UInt32? { find(key).map { cplatform_load($0) } }

    @inline(__always) private func find(_ key: SubjectKey) -> UnsafeMutablePointer<UInt32>? {
        var group = group(of: key)
        while true {
            let state = cplatform_load(SubjectTable.state(of: group))
            // All places are compared at once, because the processor would mispredict a branch for each place too often. A writer may be
            // filling a place at the same time, so the keys are read with `cplatform_peek`.
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

    // MARK: - For the writer

    /// Sets the number of a subject. Returns false if the subject is not in the table.
    func change(_ key: SubjectKey, to number: UInt32) -> Bool {
        guard let place = find(key) else { return false }
        cplatform_store(place, number)
        return true
    }

    /// Inserts a subject that is not in the table. The table must have a free place.
    func insert(_ key: SubjectKey, _ number: UInt32) {
        assert(find(key) == nil, "the subject is in the table already")
        var group = group(of: key)
        while SubjectTable.state(of: group).pointee & 0xff == Group.places {
            cplatform_store(SubjectTable.state(of: group), SubjectTable.state(of: group).pointee | Group.overflown)
            group = next(group)
        }
        let state = SubjectTable.state(of: group)
        let place = Int(state.pointee & 0xff)
        assert(place < Group.places, "a group takes more subjects than it has places")
        let words = group.assumingMemoryBound(to: UInt64.self)
        cplatform_poke(words + 2 * place, key.low)
        words[2 * place + 1] = key.high
        SubjectTable.number(place, in: group).pointee = number
        cplatform_store(state, state.pointee + 1)
    }

    // MARK: - Addresses

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

/// Zeroed memory from the kernel, on huge pages if it is large enough. With small pages, a lookup would spend more time on the page tables
/// than on the data.
private struct Memory: BitwiseCopyable {
    private static let page = 2 << 20
    private let base: UnsafeMutableRawPointer
    private let size: Int
    let start: UnsafeMutableRawPointer

    init(size: Int) {
        let isLarge = size >= Memory.page
        self.size = isLarge ? size + Memory.page : size
        base = mmap(nil, self.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        precondition(base != MAP_FAILED, "no memory for the table of subjects")
        start = isLarge ? base.alignedUp(toMultipleOf: Memory.page) : base
        if isLarge { madvise(start, size, MADV_HUGEPAGE) }
    }

    func release() { munmap(base, size) }
}
