// Removes members whose key occurs again in the same object. The last one wins, as in the parsers of the client libraries. It receives only
// events in which a wanted member occurs twice.

internal import Events

enum Duplicates {
    private struct Frame {
        var isList: Bool
        /// The index of its first member in `keys`.
        var first: Int
    }

    /// Appends the valid JSON [start, end) to `out` without the members that a later one overrides.
    static func remove(_ text: Bytes, start: Int, end: Int, into out: inout ByteBuffer) {
        var frames: [Frame] = []
        var keys: [(key: [UInt8], start: Int)] = []
        var overruled: [Range<Int>] = []
        var expectsKey = false
        var i = start
        while i < end {
            let c = text[i]
            switch c {
            case UInt8(ascii: "\""):
                let next = stringEnd(text, start: i, limit: end) ?? end
                if expectsKey {
                    keys.append((decoded(text, start: i + 1, end: next - 1), i))
                    expectsKey = false
                }
                i = next
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                frames.append(Frame(isList: c == UInt8(ascii: "["), first: keys.count))
                expectsKey = c == UInt8(ascii: "{")
            case UInt8(ascii: ","): expectsKey = frames.last?.isList == false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                expectsKey = false
                guard let frame = frames.popLast() else { break }
                if !frame.isList { overruled += overruledMembers(keys[frame.first...]) }
                keys.removeSubrange(frame.first...)
            default: break
            }
            i += 1
        }
        assert(frames.isEmpty && keys.isEmpty, "the brackets of valid JSON do not match")
        // A removed member contains its inner members, so their ranges are skipped.
        overruled.sort { $0.lowerBound < $1.lowerBound }
        var done = start
        for range in overruled where range.lowerBound >= done {
            out.append(text + done, range.lowerBound - done)
            done = range.upperBound
        }
        out.append(text + done, end - done)
    }

    /// Returns the ranges of the overridden members. Each reaches from its key to the key of the next member.
    private static func overruledMembers(_ members: ArraySlice<(key: [UInt8], start: Int)>) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var last: [[UInt8]: Int] = [:]
        for i in members.indices {
            guard let earlier = last.updateValue(i, forKey: members[i].key) else { continue }
            ranges.append(members[earlier].start..<members[earlier + 1].start)
        }
        return ranges
    }

    /// Returns the decoded text of a key, or its bytes unchanged if it cannot be decoded.
    static func decoded(_ text: Bytes, start: Int, end: Int) -> [UInt8] {
        let body = UnsafeBufferPointer(start: text + start, count: end - start)
        return Text.withText(body) { $0.map(Array.init) ?? Array(body) }
    }
}
