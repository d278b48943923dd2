// The part of the checker for objects and lists. A key that stands twice in an object, in whatever form it is written, is a violation: the
// readers of such an event would disagree on its value.

internal import CSIMD
internal import Events

/// The members of an object, or the items of a list, that some keyword looked at: one flag for each, in their order.
struct Seen {
    let flags: UnsafeMutablePointer<Bool>
    let count: Int

    @inline(__always) func note(_ index: Int) {
        assert(index < count, "more members are looked at than the object has")
        flags[index] = true
    }
}

/// What is known of an object while its members are read.
private struct Members {
    /// The number of members.
    var count = 0
    /// One bit for each member that the schema names. Of a schema with more, the others are treated like those that it does not name.
    var known: UInt64 = 0
    /// The number of those without a bit that are required.
    var otherRequired = 0
    /// The keys that the schema does not name are in `otherKeys` from here on, and if they are many their hashes in the set.
    let firstOther: Int
    var hashes: Set<Int>?
}

extension SchemaChecker {
    mutating func checkObject(_ rule: UnsafePointer<SchemaRule>, _ start: Bytes, _ seen: Seen?) -> Bytes? {
        let isPlain = rule.pointee.isPlain && seen == nil
        let keys = rule.pointee.keys
        var members = Members(firstOther: otherKeys.count)
        // `members` lies in memory, since `checkMember` changes it. A usual member changes these two only.
        var known: UInt64 = 0
        var count = 0
        var p = skipSpace(start + 1)
        while p[0] != UInt8(ascii: "}") {
            guard take(1, start) else { return nil }
            var end: Bytes?
            let key = csimd_read_key(p + 1)
            if isPlain, let entry = keys.find(key), entry.pointee.bit & ~known != 0 {
                // A usual member: its schema decides alone.
                known |= entry.pointee.bit
                let value = SchemaChecker.value(afterKey: p + (Int(key.count) &+ 2))
                end = QuickRule.end(quick + Int(entry.pointee.schema), value)
                if end == nil { end = visit(Int(entry.pointee.schema), value, nil) }
            } else {
                (members.known, members.count) = (known, count)
                end = checkMember(rule, p, seen, &members)
                known = members.known
            }
            guard let end else { return nil }
            count &+= 1
            p = skipSpace(end)
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        (members.known, members.count) = (known, count)
        return endObject(rule, start, members) ? p + 1 : nil
    }

    /// Checks the object at `start`, all of whose members are listed.
    mutating func checkListed(_ rule: UnsafePointer<SchemaRule>, _ start: Bytes, _ list: ListedMembers, in block: Bytes) -> Bool {
        let keys = rule.pointee.keys
        var members = Members(firstOther: otherKeys.count)
        guard take(list.count, start) else { return false }
        var index = 0
        while true {
            // The usual members are found first, and their values are looked at afterwards. The types of values are hard to predict for the
            // processor. A wrong guess costs less if the schema of the next member is known already.
            let first = index
            while index < list.count {
                let member = list.first + index
                guard let entry = keys.find(csimd_cut_key(block + (Int(member.pointee.key) &+ 1), member.pointee.members)),
                    entry.pointee.bit & ~members.known != 0
                else { break }
                members.known |= entry.pointee.bit
                found[index] = entry.pointee.schema
                index &+= 1
            }
            for usual in first..<index {
                let member = list.first + usual
                let value = block + Int(member.pointee.start)
                let schema = Int(found[usual])
                if !QuickRule.holds(quick + schema, value, Int(member.pointee.end &- member.pointee.start)) {
                    if visit(schema, value, nil) == nil { return false }
                }
            }
            if index == list.count { break }
            members.count = index
            if checkMember(rule, block + Int(list.first[index].key), nil, &members) == nil { return false }
            index &+= 1
        }
        members.count = list.count
        return endObject(rule, start, members)
    }

    /// Checks what can be said of an object only after its last member.
    @inline(__always) private mutating func endObject(
        _ rule: UnsafePointer<SchemaRule>, _ start: Bytes, _ members: borrowing Members
    ) -> Bool {
        if otherKeys.count > members.firstOther { otherKeys.removeLast(otherKeys.count - members.firstOther) }
        if rule.pointee.requiredBits & ~members.known != 0 || members.otherRequired < rule.pointee.otherRequired {
            return fail(.required, start, missing: missing(rule.pointee.members, in: start)) != nil
        }
        if members.count < rule.pointee.minProperties { return fail(.minProperties, start) != nil }
        if members.count > rule.pointee.maxProperties { return fail(.maxProperties, start) != nil }
        return true
    }

    /// Returns the place of the value whose key ends before `p`.
    @inline(__always) private static func value(afterKey p: Bytes) -> Bytes {
        skipSpace((p[0] == UInt8(ascii: ":") ? p : skipSpace(p)) + 1)
    }

    /// Checks one member by all keywords. Returns the place after its value.
    @inline(never) private mutating func checkMember(
        _ rule: UnsafePointer<SchemaRule>, _ key: Bytes, _ seen: Seen?, _ members: inout Members
    ) -> Bytes? {
        let keyEnd = stringEnd(key)
        let run = ByteRun(base: key + 1, count: keyEnd - key - 2)
        let value = SchemaChecker.value(afterKey: keyEnd)
        let member = find(run, of: rule)
        if member >= 0, member < 64 {
            guard members.known & 1 << UInt64(member) == 0 else { return fail(.duplicate, value) }
            members.known |= 1 << UInt64(member)
        } else {
            if isRepeated(run, from: members.firstOther, &members.hashes) { return fail(.duplicate, value) }
            if member >= 0, rule.pointee.members[member].isRequired { members.otherRequired += 1 }
        }
        if rule.pointee.names >= 0, visit(rule.pointee.names, key, nil) == nil { return rename(to: .propertyNames, key) }
        return checkValue(rule, key: key, keyEnd: keyEnd, value, member: member, seen, index: members.count)
    }

    /// Checks the value of one member. Returns the place after it.
    @inline(__always) private mutating func checkValue(
        _ rule: UnsafePointer<SchemaRule>, key: Bytes, keyEnd: Bytes, _ value: Bytes, member: Int, _ seen: Seen?, index: Int
    ) -> Bytes? {
        var end: Bytes?
        if member >= 0, rule.pointee.members[member].schema >= 0 {
            end = visit(rule.pointee.members[member].schema, value, nil)
            if end == nil { return nil }
        }
        for pattern in rule.pointee.patterns where matches(pattern.pattern, key, keyEnd) {
            end = visit(pattern.schema, value, nil)
            if end == nil { return nil }
        }
        if isExhausted { return nil }
        if end == nil, rule.pointee.additional >= 0 {
            end = visit(rule.pointee.additional, value, nil)
            if end == nil { return rules[rule.pointee.additional].isSatisfiable ? nil : rename(to: .additionalProperties, value) }
        }
        guard let end else { return valueEnd(value) }
        seen?.note(index)
        return end
    }

    /// Names another keyword for the violation that was just noted.
    @inline(never) mutating func rename(to keyword: Keyword, _ value: Bytes) -> Bytes? {
        if isExhausted { return nil }
        violation = nil
        return fail(keyword, value)
    }

    /// Returns the index of the member with this key, or -1.
    private func find(_ key: ByteRun, of rule: UnsafePointer<SchemaRule>) -> Int {
        if rule.pointee.members.isEmpty { return -1 }
        if key.hasEscape { return findEscaped(key, in: rule.pointee.members) }
        return rule.pointee.keys.index(of: key, in: rule.pointee.members)
    }

    @inline(never) private func findEscaped(_ key: ByteRun, in members: UnsafeBufferPointer<MemberRule>) -> Int {
        SchemaChecker.withKey(key) { text in members.firstIndex { $0.key == text } ?? -1 }
    }

    /// Calls the body with the decoded bytes of a key.
    static func withKey<R>(_ key: ByteRun, _ body: (ByteRun) -> R) -> R {
        guard key.hasEscape else { return body(key) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: key.count + 8) { buffer in
            let count = Text.unescape(key.base, key.base + key.count, into: buffer.baseAddress!, keepsHalves: true) ?? 0
            return body(ByteRun(base: Bytes(buffer.baseAddress!), count: count))
        }
    }

    /// The number of keys that are compared with each other. Of more keys the hashes are compared.
    private static let fewKeys = 16

    /// Returns true if the key came before among those of its object that the schema does not name.
    @inline(never) private mutating func isRepeated(_ key: ByteRun, from first: Int, _ hashes: inout Set<Int>?) -> Bool {
        if hashes == nil {
            for index in first..<otherKeys.count where SchemaChecker.sameKey(key, otherKeys[index]) { return true }
            otherKeys.append(key)
            guard otherKeys.count - first > SchemaChecker.fewKeys else { return false }
            hashes = Set((first..<otherKeys.count).map { SchemaChecker.hash(otherKeys[$0]) })
            return false
        }
        return !hashes!.insert(SchemaChecker.hash(key)).inserted
    }

    private static func sameKey(_ a: ByteRun, _ b: ByteRun) -> Bool {
        if !a.hasEscape, !b.hasEscape { return a == b }
        return withKey(a) { a in withKey(b) { b in a == b } }
    }

    private static func hash(_ key: ByteRun) -> Int {
        withKey(key) { text in
            var hasher = Hasher()
            hasher.combine(bytes: UnsafeRawBufferPointer(start: text.base, count: text.count))
            return hasher.finalize()
        }
    }

    /// Returns the first required key that the object lacks.
    private func missing(_ members: UnsafeBufferPointer<MemberRule>, in object: Bytes) -> ByteRun? {
        members.first { $0.isRequired && !has($0.key, in: object) }?.key
    }

    /// Returns true if the object has a member with this key.
    func has(_ wanted: ByteRun, in object: Bytes) -> Bool { member(wanted, in: object) != nil }

    /// Returns the value of the member with this key.
    func member(_ wanted: ByteRun, in object: Bytes) -> Bytes? {
        var p = skipSpace(object + 1)
        while p[0] != UInt8(ascii: "}") {
            let end = stringEnd(p)
            let key = ByteRun(base: p + 1, count: end - p - 2)
            p = skipSpace(skipSpace(end) + 1)
            // The bytes of a key with an escape are not its text.
            if key.hasEscape ? SchemaChecker.withKey(key, { $0 == wanted }) : key == wanted { return p }
            p = skipSpace(valueEnd(p))
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return nil
    }

    // MARK: - Lists

    mutating func checkList(_ rule: UnsafePointer<SchemaRule>, _ start: Bytes, _ seen: Seen?) -> Bytes? {
        var p = skipSpace(start + 1)
        var count = 0
        var contained = 0
        let prefix = rule.pointee.prefix
        while p[0] != UInt8(ascii: "]") {
            guard take(1, start) else { return nil }
            var end: Bytes?
            let schema = count < prefix.count ? prefix[count] : rule.pointee.items
            if schema >= 0 {
                end = QuickRule.end(quick + schema, p) ?? visit(schema, p, nil)
                if end == nil { return nil }
                seen?.note(count)
            }
            if rule.pointee.contains >= 0 {
                if let after = visit(rule.pointee.contains, p, nil) {
                    end = after
                    contained += 1
                    seen?.note(count)
                } else if isExhausted {
                    return nil
                } else {
                    violation = nil
                }
            }
            if rule.pointee.isUnique, isRepeated(p, from: start) { return fail(.uniqueItems, start) }
            if stepsLeft < 0 { return nil }
            count += 1
            p = skipSpace(end ?? valueEnd(p))
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        if count < rule.pointee.minItems { return fail(.minItems, start) }
        if count > rule.pointee.maxItems { return fail(.maxItems, start) }
        if rule.pointee.contains >= 0, contained < rule.pointee.minContains || contained > rule.pointee.maxContains {
            return fail(.contains, start)
        }
        return p + 1
    }

    /// Returns true if the item came before in its list.
    private mutating func isRepeated(_ item: Bytes, from list: Bytes) -> Bool {
        var p = skipSpace(list + 1)
        while p < item {
            guard take(1, list) else { return false }
            if equals(p, item) { return true }
            p = skipSpace(skipSpace(valueEnd(p)) + 1)
        }
        return false
    }
}
