// The single pass over an event. It checks that a line is one JSON object in UTF-8, and notes the places of the wanted members. It applies
// RFC 8259 to every byte, also in members that are not wanted, and produces only offsets. It never reads more than 64 bytes after the
// newline of a line. A newline is not valid anywhere inside a line, so it stops every loop and no other bounds are checked.

public struct Scanner: ~Copyable, @unchecked Sendable {
    /// The largest allowed `depth`. Nesting uses no native stack, only 9 bytes for each level.
    public static let deepest = 100_000

    /// The reason why the last scan returned no event. It has no meaning after a successful scan.
    public internal(set) var fault = Fault(.blank)
    /// The place of the newline of the last scanned line, valid or not, from the start of the block.
    public private(set) var lineEnd: UInt32 = 0

    let paths: PathTrie
    private let lookup: KeyLookup
    let depth: Int
    private var stops: Stops
    /// The slots of this scan and of the one before. They are swapped at each scan.
    private var slots: UnsafeMutablePointer<Slot>
    private var otherSlots: UnsafeMutablePointer<Slot>
    private let slotCount: Int
    /// The wanted objects that enclose the current one, by level.
    private let enclosing: UnsafeMutablePointer<Container>
    /// True for each level of an array, inside values that are only skipped.
    private let isList: UnsafeMutablePointer<Bool>

    /// A wanted object while one of its members is read.
    private struct Container {
        var slot: Int32
        var members: UInt32
    }

    /// `depth` is the number of levels of objects and arrays that an event may have, including the event itself.
    public init(_ paths: PathTrie, depth: Int = 512, lookahead: Lookahead = .fastest) {
        precondition((1...Scanner.deepest).contains(depth), "the depth must be between 1 and \(Scanner.deepest)")
        precondition(paths.count <= Int(Int32.max), "a container notes its slot in 32 bits")
        self.paths = paths
        self.depth = depth
        lookup = KeyLookup(paths)
        stops = Stops(lookahead)
        // Behind the slots are the number of listed members and the list.
        let capacity = paths.listed == 0 ? paths.count : paths.count + 1 + ListedMembers.most
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: Slot(), count: capacity)
        otherSlots = .allocate(capacity: capacity)
        otherSlots.initialize(repeating: Slot(), count: capacity)
        slotCount = paths.listed == 0 ? paths.count : paths.count + 1
        enclosing = .allocate(capacity: depth)
        isList = .allocate(capacity: depth)
    }

    deinit {
        slots.deallocate()
        otherSlots.deallocate()
        enclosing.deallocate()
        isList.deallocate()
    }

    /// Scans the line that starts at `start`. There must be a newline at or after `start`, and 64 readable bytes after it. If the line is
    /// not an event, it returns nil and sets `fault`. In both cases the next line begins after `lineEnd`. The event is valid until the scan
    /// after the next one.
    public mutating func scan(_ block: Bytes, _ start: UInt32) -> ScannedEvent? {
        swap(&slots, &otherSlots)
        slots.update(repeating: Slot(), count: slotCount)
        let newline = stops.mark(block, Int(start))
        lineEnd = UInt32(truncatingIfNeeded: newline)
        assert(newline >= Int(start) && newline <= Int(UInt32.max), "the end of a line is outside its block")
        guard paths.listed == 0 ? read(block, Int(start)) : readListing(block, Int(start)) else { return nil }
        let isCarriageReturn = newline > start && block[newline &- 1] == UInt8(ascii: "\r")
        let end = isCarriageReturn ? lineEnd &- 1 : lineEnd
        assert(slots[PathTrie.root].start >= start && slots[PathTrie.root].end <= end, "an event is outside its line")
        assert(!slots[0].isPresent, "an event has a value for members that are not wanted")
        return ScannedEvent(block: block, start: start, end: end, slots: UnsafePointer(slots))
    }

    @inline(never) private mutating func read(_ text: Bytes, _ start: Int) -> Bool { read(text, start, lists: false) }
    @inline(never) private mutating func readListing(_ text: Bytes, _ start: Int) -> Bool { read(text, start, lists: true) }

    /// Reads the whole line. `i` counts from the start of the block, like all offsets here. This loop reads the event and its objects. It
    /// leaves arrays to `skipArray`, because no path leads into them. `lists` is a constant: it is compiled for each of its values.
    @inline(__always) private mutating func read(_ text: Bytes, _ start: Int, lists: Bool) -> Bool {
        let marks = stops.marks(start)
        let slots = slots
        let lookup = lookup
        let listed = lists ? paths.listed : 0
        let list = slots + (lists ? paths.count : 0)
        var listCount = 0
        var level = 1
        var slot = PathTrie.root
        var members: UInt32 = 0

        var i = skipBlanks(text, start)
        guard text[i] == UInt8(ascii: "{") else { return failBeforeObject(text, start: start, i: i) }
        slots[slot].start = UInt32(truncatingIfNeeded: i)
        i = skipBlanks(text, i &+ 1)
        if text[i] == UInt8(ascii: "}") {
            slots[slot].end = UInt32(truncatingIfNeeded: i &+ 1)
            return endLine(text, i &+ 1)
        }

        nextMember: while true {
            guard text[i] == UInt8(ascii: "\"") else { return fail(.expectedKey, text: text, i: i) }
            let key = i
            let keyEnd = KeyEnd(marks, i)
            let child: Int
            i = keyEnd.end
            var closing = i
            if load16(text + i) == 0x3a22 {  // ":
                child = lookup.child(slot, key: text + (key &+ 1), count: i &- key &- 1)
                i &+= 2
            } else {
                if text[i] == UInt8(ascii: "\"") {
                    child = lookup.child(slot, key: text + (key &+ 1), count: i &- key &- 1)
                } else {
                    var isEscaped = false
                    i = restOfString(text, marks: marks, start: i, isEscaped: &isEscaped)
                    guard i > 0 else { return false }
                    closing = i
                    child = rareChild(slot, key: text + (key &+ 1), count: i &- key &- 1, isEscaped: isEscaped)
                }
                i = skipBlanks(text, i &+ 1)
                guard text[i] == UInt8(ascii: ":") else { return fail(.expectedColon, text: text, i: i) }
                i &+= 1
            }
            i = skipBlanks(text, i)

            if lists, slot == listed {
                // Beyond the most members the last place is written again.
                if listCount < ListedMembers.most { listCount &+= 1 }
                list[listCount].key = UInt32(truncatingIfNeeded: key)
                list[listCount].start = UInt32(truncatingIfNeeded: i)
                list[listCount].members = UInt32(truncatingIfNeeded: closing &- key &- 1)
            }
            if child != 0 {
                guard slots[child].end == 0 else { return failDuplicate(child, text: text, key: key) }
                slots[child].key = UInt32(truncatingIfNeeded: key)
                slots[child].start = UInt32(truncatingIfNeeded: i)
            }
            let c = text[i]
            if c == UInt8(ascii: "\"") {
                i = keyEnd.valueStop(marks, i)
                i = text[i] == UInt8(ascii: "\"") ? i &+ 1 : stringEnd(text, marks: marks, start: i)
            } else if c == UInt8(ascii: "{") {
                guard level < depth else { return fail(.depth, text: text, i: i) }
                i = skipBlanks(text, i &+ 1)
                if text[i] != UInt8(ascii: "}") {
                    assert(level >= 1 && level < depth, "an object is noted outside the reserved levels")
                    enclosing[level] = Container(slot: Int32(truncatingIfNeeded: slot), members: members)
                    level &+= 1
                    slot = child
                    members = 0
                    continue nextMember
                }
                i &+= 1
            } else if c == UInt8(ascii: "[") {
                i = skipArray(text, marks: marks, start: i, outer: level)
            } else {
                i = skipWord(text, i)
            }
            guard i > 0 else { return false }
            // Slot 0 receives the ends of unwanted members, because writing is cheaper than a test.
            slots[child].end = UInt32(truncatingIfNeeded: i)
            if lists, slot == listed { list[listCount].end = UInt32(truncatingIfNeeded: i) }

            // After a member follow another member, or the ends of the objects whose last member it was.
            while true {
                members &+= 1
                if load16(text + i) == 0x222c {  // ,"
                    i &+= 1
                    continue nextMember
                }
                i = skipBlanks(text, i)
                if text[i] == UInt8(ascii: ",") {
                    i = skipBlanks(text, i &+ 1)
                    continue nextMember
                }
                guard text[i] == UInt8(ascii: "}") else { return fail(.expectedMember, text: text, i: i) }
                i &+= 1
                slots[slot].members = members
                slots[slot].end = UInt32(truncatingIfNeeded: i)
                level &-= 1
                if level == 0 {
                    if lists { list[0].members = UInt32(truncatingIfNeeded: listCount) }
                    return endLine(text, i)
                }
                slot = Int(enclosing[level].slot)
                members = enclosing[level].members
            }
        }
    }

    /// Returns the place after the number, true, false or null at i. Returns 0 and sets the fault if it is invalid.
    @inline(__always) private mutating func skipWord(_ text: Bytes, _ start: Int) -> Int {
        let c = text[start]
        if isDigit(c) || c == UInt8(ascii: "-") {
            let (end, isValid) = numberEnd(text, start)
            return isValid ? end : failNumber(text, end)
        }
        let word = load32(text + start)
        if word == 0x6575_7274 || word == 0x6c6c_756e { return start &+ 4 }  // true, null
        if word == 0x736c_6166, text[start &+ 4] == UInt8(ascii: "e") { return start &+ 5 }  // false
        return failValue(text, start)
    }

    /// Checks the array at i, in which nothing is wanted. Returns the place after it, or 0 with the fault set if it is invalid. `outer` is
    /// the number of levels that enclose it.
    @inline(never) private mutating func skipArray(_ text: Bytes, marks: Marks, start: Int, outer: Int) -> Int {
        let isList = isList
        var level = outer
        var isArray = false
        var i = start
        nextContainer: while true {
            guard level < depth else { return failAt(.depth, text: text, i: i) }
            let bracket = text[i]
            isList[level] = isArray
            level &+= 1
            isArray = bracket == UInt8(ascii: "[")
            i = skipBlanks(text, i &+ 1)
            // '}' and ']' have the codes of their opening brackets plus two.
            var hasMore = text[i] != bracket &+ 2
            while true {
                if hasMore {
                    if isArray {
                        let c = text[i]
                        if c == UInt8(ascii: "\"") {
                            i = marks.next(i &+ 1)
                            i = text[i] == UInt8(ascii: "\"") ? i &+ 1 : stringEnd(text, marks: marks, start: i)
                        } else if c | 0x20 == UInt8(ascii: "{") {
                            continue nextContainer
                        } else {
                            i = skipWord(text, i)
                        }
                    } else {
                        guard text[i] == UInt8(ascii: "\"") else { return failAt(.expectedKey, text: text, i: i) }
                        let keyEnd = KeyEnd(marks, i)
                        i = keyEnd.end
                        if text[i] != UInt8(ascii: "\"") {
                            i = stringEnd(text, marks: marks, start: i)
                            guard i > 0 else { return 0 }
                            i &-= 1
                        }
                        i = colon(text, i)
                        guard text[i] == UInt8(ascii: ":") else { return failAt(.expectedColon, text: text, i: i) }
                        i = skipBlanks(text, i &+ 1)
                        let c = text[i]
                        if c == UInt8(ascii: "\"") {
                            i = keyEnd.valueStop(marks, i)
                            i = text[i] == UInt8(ascii: "\"") ? i &+ 1 : stringEnd(text, marks: marks, start: i)
                        } else if c | 0x20 == UInt8(ascii: "{") {
                            continue nextContainer
                        } else {
                            i = skipWord(text, i)
                        }
                    }
                    guard i > 0 else { return 0 }
                    i = skipBlanks(text, i)
                    if text[i] == UInt8(ascii: ",") {
                        i = skipBlanks(text, i &+ 1)
                        continue
                    }
                }
                guard text[i] == (isArray ? UInt8(ascii: "]") : UInt8(ascii: "}")) else {
                    return failAt(isArray ? .expectedElement : .expectedMember, text: text, i: i)
                }
                i &+= 1
                level &-= 1
                if level == outer { return i }
                assert(level > outer && level < depth, "a container ends outside the reserved levels")
                isArray = isList[level]
                // The closed container was itself a value.
                i = skipBlanks(text, i)
                hasMore = text[i] == UInt8(ascii: ",")
                if hasMore { i = skipBlanks(text, i &+ 1) }
            }
        }
    }

    /// Returns the place after a string that is not plain. `start` is the place of its first byte that is not plain.
    @inline(never) private mutating func stringEnd(_ text: Bytes, marks: Marks, start: Int) -> Int {
        var isEscaped = false
        let end = restOfString(text, marks: marks, start: start, isEscaped: &isEscaped)
        return end > 0 ? end &+ 1 : 0
    }

    @inline(__always) private mutating func endLine(_ text: Bytes, _ end: Int) -> Bool {
        slots[0] = Slot()
        let i = skipBlanks(text, end)
        return text[i] == UInt8(ascii: "\n") || fail(.textAfterEvent, text: text, i: i)
    }

    /// Returns the place of the closing quote. `start` is the place of the first byte that is not plain. Returns 0 and sets the fault if
    /// the string is invalid.
    @inline(never) private mutating func restOfString(_ text: Bytes, marks: Marks, start: Int, isEscaped: inout Bool) -> Int {
        var i = start
        while true {
            switch text[i] {
            case UInt8(ascii: "\""): return i
            case UInt8(ascii: "\\"):
                isEscaped = true
                repeat {
                    let n = escapeLength(text + i)
                    if n == 0 {
                        return failAt(.escape, text: text, i: i + escapeFault(text + i))
                    }
                    i &+= n
                } while text[i] == UInt8(ascii: "\\")
            case 0x80...:
                repeat {
                    let n = utf8Length(text + i)
                    if n == 0 {
                        return failAt(.utf8, text: text, i: i)
                    }
                    i &+= n
                } while text[i] >= 0x80
            default:
                return failAt(.controlInString, text: text, i: i)
            }
            i = marks.next(i)
        }
    }

    /// Returns the slot of a key that may contain an escape: "ty\u0070e" is the same key as "type".
    @inline(never) private func rareChild(_ slot: Int, key: Bytes, count: Int, isEscaped: Bool) -> Int {
        guard isEscaped else { return lookup.child(slot, key: key, count: count) }
        // The key is decoded into quotes again, as the look-up requires, with a spare word before it and the padding of a line after it.
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8 + count + Block.padding) { buffer in
            buffer.initialize(repeating: UInt8(ascii: "\""))
            guard let start = buffer.baseAddress, let n = Text.unescape(key, key + count, into: start + 8) else { return 0 }
            assert(n <= count, "a decoded key is longer than its escaped form")
            start[8 + n] = UInt8(ascii: "\"")
            return lookup.child(slot, key: Bytes(start) + 8, count: n)
        }
    }
}

/// Returns the place of the byte after a key's closing quote that must be its colon.
@inline(__always) private func colon(_ text: Bytes, _ quote: Int) -> Int {
    text[quote &+ 1] == UInt8(ascii: ":") ? quote &+ 1 : skipBlanks(text, quote &+ 1)
}

@inline(__always) private func skipBlanks(_ text: Bytes, _ start: Int) -> Int {
    var i = start
    if text[i] > 0x20 { return i }
    while text[i] == 0x20 || text[i] == 0x09 || text[i] == 0x0d { i &+= 1 }
    return i
}

/// Returns the end of the number at i, or the place of its error.
@inline(__always) private func numberEnd(_ text: Bytes, _ start: Int) -> (end: Int, isValid: Bool) {
    // Most numbers consist of digits with at most one point and end within eight bytes. These need only one branch.
    let others = otherThanDigits(load64(text + start))
    let point = others.trailingZeroBitCount &>> 3
    let rest = others & (others &- 1)
    let isFraction = text[start &+ (point & 7)] == UInt8(ascii: ".")
    let end = isFraction ? rest.trailingZeroBitCount &>> 3 : point
    let isLong = end >= 8
    let isOdd = point == 0 || (text[start] == UInt8(ascii: "0") && point > 1) || (isFraction && end == point &+ 1)
    if !isLong && !isOdd && text[start &+ end] | 0x20 != UInt8(ascii: "e") { return (start &+ end, true) }
    return anyNumberEnd(text, start)
}

@inline(never) private func anyNumberEnd(_ text: Bytes, _ start: Int) -> (end: Int, isValid: Bool) {
    var i = start
    if text[i] == UInt8(ascii: "-") { i &+= 1 }
    let whole = digitCount(text + i)
    if whole == 0 { return (i, false) }
    if whole > 1 && text[i] == UInt8(ascii: "0") { return (i &+ 1, false) }
    i &+= whole
    if text[i] == UInt8(ascii: ".") {
        i &+= 1
        let fraction = digitCount(text + i)
        if fraction == 0 { return (i, false) }
        i &+= fraction
    }
    if text[i] | 0x20 == UInt8(ascii: "e") {
        i &+= 1
        if text[i] == UInt8(ascii: "+") || text[i] == UInt8(ascii: "-") { i &+= 1 }
        let exponent = digitCount(text + i)
        if exponent == 0 { return (i, false) }
        i &+= exponent
    }
    return (i, true)
}
