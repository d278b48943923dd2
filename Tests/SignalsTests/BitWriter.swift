// Writes consent strings bit by bit, by the specifications. It is independent of the code that reads them.

struct BitWriter {
    private(set) var bits = ""

    mutating func put(_ value: Int, _ width: Int) {
        let digits = String(value, radix: 2)
        bits += String(repeating: "0", count: width - digits.count) + digits
    }

    mutating func put(_ flag: Bool) { bits += flag ? "1" : "0" }

    mutating func putFlags(_ set: Set<Int>, _ range: ClosedRange<Int>) {
        for number in range { put(set.contains(number)) }
    }

    /// Writes one flag for each number up to the highest.
    mutating func putField(_ set: Set<Int>) {
        let last = set.max() ?? 0
        put(last, 16)
        put(false)
        if last > 0 { putFlags(set, 1...last) }
    }

    mutating func putRanges(_ set: Set<Int>) {
        put(set.max() ?? 0, 16)
        put(true)
        putEntries(set)
    }

    mutating func putEntries(_ set: Set<Int>) {
        var runs: [ClosedRange<Int>] = []
        for number in set.sorted() {
            if let last = runs.last, last.upperBound == number - 1 {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
        put(runs.count, 12)
        for run in runs {
            put(run.count > 1)
            put(run.lowerBound, 16)
            if run.count > 1 { put(run.upperBound, 16) }
        }
    }

    /// Writes a number in Fibonacci coding: one flag for each of 1, 2, 3, 5, 8, … up to the number. Flags mark the parts of its sum. A one
    /// ends the code.
    mutating func putFibonacci(_ number: Int) {
        var weights = [1, 2]
        while weights.last! < number { weights.append(weights[weights.count - 1] + weights[weights.count - 2]) }
        while weights.last! > number { weights.removeLast() }
        var rest = number
        var digits = ""
        for weight in weights.reversed() {
            digits = (weight <= rest ? "1" : "0") + digits
            if weight <= rest { rest -= weight }
        }
        bits += digits + "1"
    }

    /// The bits as base64url, padded with zeros to whole characters.
    var text: String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var rest = bits[...]
        var text = ""
        while !rest.isEmpty {
            let six = rest.prefix(6)
            rest = rest.dropFirst(6)
            text.append(letters[Int(six + String(repeating: "0", count: 6 - six.count), radix: 2)!])
        }
        return text
    }
}
