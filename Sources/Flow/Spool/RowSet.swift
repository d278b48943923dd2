// A set of row numbers, stored as ranges without gaps. Rows leave a spool nearly in order, so a few ranges hold many rows.

struct RowSet: Sendable, Equatable {
    /// The ranges in order. Between any two ranges at least one number is not in the set.
    private(set) var ranges: [ClosedRange<Int64>] = []

    var isEmpty: Bool { ranges.isEmpty }
    var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) } }

    /// Returns the index of the first range that ends at the row or after it.
    private func index(of row: Int64) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < row { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func contains(_ row: Int64) -> Bool {
        let place = index(of: row)
        return place < ranges.count && ranges[place].contains(row)
    }

    /// Returns true if all rows of the range are in the set.
    func covers(_ rows: ClosedRange<Int64>) -> Bool {
        let place = index(of: rows.lowerBound)
        return place < ranges.count && ranges[place].contains(rows.lowerBound) && ranges[place].contains(rows.upperBound)
    }

    mutating func insert(_ row: Int64) {
        let place = index(of: row)
        if place < ranges.count, ranges[place].contains(row) { return }
        let joinsLast = place > 0 && row > .min && ranges[place - 1].upperBound == row - 1
        let joinsNext = place < ranges.count && row < .max && ranges[place].lowerBound == row + 1
        switch (joinsLast, joinsNext) {
        case (true, true):
            ranges[place - 1] = ranges[place - 1].lowerBound...ranges[place].upperBound
            ranges.remove(at: place)
        case (true, false): ranges[place - 1] = ranges[place - 1].lowerBound...row
        case (false, true): ranges[place] = row...ranges[place].upperBound
        case (false, false): ranges.insert(row...row, at: place)
        }
        assert(contains(row) && isOrdered(near: place), "the ranges are not in order, or have no gap between them")
    }

    /// Returns true if there is a gap between each two ranges around the index.
    private func isOrdered(near place: Int) -> Bool {
        (max(1, place - 1)..<max(1, min(ranges.count, place + 2))).allSatisfy { next in
            let (gap, isOver) = ranges[next].lowerBound.subtractingReportingOverflow(ranges[next - 1].upperBound)
            return isOver || gap > 1
        }
    }
}
