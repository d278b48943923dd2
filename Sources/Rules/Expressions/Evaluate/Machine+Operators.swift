// Arithmetic, equality, and access to lists and maps.

internal import Events
internal import Glibc

extension Machine {
    /// The greatest depth to which values are compared or written. The values of an event can nest deeper than a stack allows.
    static let deepest = 200

    // MARK: Arithmetic

    mutating func arithmetic(_ kind: Operator, a: Value, b: Value, code: Code) throws(Failure) -> Value {
        switch (a, b) {
        case (.int(let a), .int(let b)): return .int(try integers(kind, a: a, b: b, code: code))
        case (.uint(let a), .uint(let b)): return .uint(try integers(kind, a: a, b: b, code: code))
        case (.double(let a), .double(let b)): return .double(try doubles(kind, a: a, b: b, code: code))
        case (.timestamp(let time), .duration(let duration)):
            guard kind == .add || kind == .subtract else { throw code.failure(.noOverload) }
            guard let sum = time.adding(duration, sign: kind == .add ? 1 : -1) else { throw code.failure(.overflow) }
            return .timestamp(sum)
        case (.duration(let duration), .timestamp(let time)) where kind == .add:
            guard let sum = time.adding(duration, sign: 1) else { throw code.failure(.overflow) }
            return .timestamp(sum)
        case (.timestamp(let a), .timestamp(let b)) where kind == .subtract:
            guard let difference = a.since(b) else { throw code.failure(.overflow) }
            return .duration(difference)
        case (.duration(let a), .duration(let b)) where kind == .add || kind == .subtract:
            return .duration(try integers(kind, a: a, b: b, code: code))
        case (.string(let a), .string(let b)) where kind == .add:
            try make(a.bytes.count + b.bytes.count, code)
            return .string(TextValue(a.bytes + b.bytes))
        case (.bytes(let a), .bytes(let b)) where kind == .add:
            try make(a.count + b.count, code)
            return .bytes(a + b)
        case (.list, .list) where kind == .add:
            let first = try elements(a, code)
            let second = try elements(b, code)
            try make((first.count + second.count) * 24, code)
            return .list(.values(first + second))
        default:
            guard code.promotes, let a = a.asDouble, let b = b.asDouble else { throw code.failure(.noOverload) }
            return .double(try doubles(kind, a: a, b: b, code: code))
        }
    }

    private func integers<T: FixedWidthInteger>(_ kind: Operator, a: T, b: T, code: Code) throws(Failure) -> T {
        let result: (T, Bool)
        switch kind {
        case .add: result = a.addingReportingOverflow(b)
        case .subtract: result = a.subtractingReportingOverflow(b)
        case .multiply: result = a.multipliedReportingOverflow(by: b)
        case .divide:
            if b == 0 { throw code.failure(.divisionByZero) }
            result = a.dividedReportingOverflow(by: b)
        default:
            if b == 0 { throw code.failure(.divisionByZero) }
            result = a.remainderReportingOverflow(dividingBy: b)
        }
        if result.1 { throw code.failure(.overflow) }
        return result.0
    }

    private func doubles(_ kind: Operator, a: Double, b: Double, code: Code) throws(Failure) -> Double {
        switch kind {
        case .add: return a + b
        case .subtract: return a - b
        case .multiply: return a * b
        case .divide: return a / b
        default:
            // The event can write a whole number with a point. Its remainder is the same as without the point.
            guard code.promotes, a == a.rounded(.towardZero), b == b.rounded(.towardZero) else { throw code.failure(.noOverload) }
            if b == 0 { throw code.failure(.divisionByZero) }
            return fmod(a, b)
        }
    }

    // MARK: Equality

    mutating func equal(_ a: Value, b: Value, code: Code, depth: Int = 0) throws(Failure) -> Bool {
        if let order = a.number.flatMap({ a in b.number.map { a.order($0) } }) { return order == .equal }
        switch (a, b) {
        case (.null, .null): return true
        case (.bool(let a), .bool(let b)): return a == b
        case (.string(let a), .string(let b)):
            try spend(min(a.bytes.count, b.bytes.count) >> 6, code)
            return a.bytes == b.bytes
        case (.bytes(let a), .bytes(let b)):
            try spend(min(a.count, b.count) >> 6, code)
            return a == b
        case (.timestamp(let a), .timestamp(let b)): return a == b
        case (.duration(let a), .duration(let b)): return a == b
        case (.type(let a), .type(let b)): return a.utf8.elementsEqual(b.utf8)
        case (.ip(let a), .ip(let b)): return a == b
        case (.version(let a), .version(let b)): return a == b
        case (.optional(let a), .optional(let b)):
            guard depth < Machine.deepest else { throw code.failure(.depth) }
            guard let a, let b else { return a == nil && b == nil }
            return try equal(a, b: b, code: code, depth: depth + 1)
        case (.list, .list):
            guard depth < Machine.deepest else { throw code.failure(.depth) }
            var left = Elements(a)
            var right = Elements(b)
            while let element = try next(&left, code) {
                guard let other = try next(&right, code) else { return false }
                if !(try equal(element, b: other, code: code, depth: depth + 1)) { return false }
            }
            return try next(&right, code) == nil
        case (.map, .map):
            guard depth < Machine.deepest else { throw code.failure(.depth) }
            guard try size(a, code) == size(b, code) else { return false }
            var keys = Elements(a)
            while let key = try next(&keys, code) {
                guard let other = try find(b, key: key, code: code), let own = try find(a, key: key, code: code),
                    try equal(own, b: other, code: code, depth: depth + 1)
                else { return false }
            }
            return true
        default: return false
        }
    }

    // MARK: Lists and maps

    mutating func elements(_ value: Value, _ code: Code) throws(Failure) -> [Value] {
        if case .list(.values(let values)) = value { return values }
        var elements = Elements(value)
        var values: [Value] = []
        while let element = try next(&elements, code) {
            try make(24, code)
            values.append(element)
        }
        return values
    }

    mutating func size(_ value: Value, _ code: Code) throws(Failure) -> Int {
        switch value {
        case .list(.values(let values)): return values.count
        case .map(.entries(let entries)): return entries.count
        case .list(.json(let span)), .map(.json(let span)):
            try spend(span.count >> 6, code)
            var cursor = JSONCursor(span)
            var count = 0
            while cursor.next() { count += 1 }
            return count
        case .string(let text):
            try spend(text.bytes.count >> 6, code)
            return text.count
        case .bytes(let bytes): return bytes.count
        default: throw code.failure(.noOverload)
        }
    }

    /// Returns the value of a key in a map. It is nil if the map lacks the key.
    mutating func lookup(_ map: Value, key: [UInt8], code: Code) throws(Failure) -> Value? {
        switch map {
        case .map(.entries(let entries)):
            for entry in entries {
                try spend(1 + key.count >> 6, code)
                if case .string(let text) = entry.key, text.bytes == key { return entry.value }
            }
            return nil
        case .map(.json(let span)):
            var cursor = JSONCursor(span)
            while cursor.next() {
                try spend(1 + (cursor.key.count + cursor.value.count) >> 6, code)
                guard isSame(cursor.key.body, key) else { continue }
                if cursor.value.first == UInt8(ascii: "\"") { try make(cursor.value.count, code) }
                guard let value = cursor.value.value else { throw code.failure(.text) }
                return value
            }
            return nil
        default: throw code.failure(.noOverload)
        }
    }

    private func isSame(_ body: UnsafeBufferPointer<UInt8>, _ key: [UInt8]) -> Bool {
        if body.count < key.count { return false }
        return Text.withText(body) { $0?.elementsEqual(key) ?? false }
    }

    /// Returns the value of a key of any type. Numbers that are equal are the same key.
    private mutating func find(_ map: Value, key: Value, code: Code) throws(Failure) -> Value? {
        if case .string(let text) = key { return try lookup(map, key: text.bytes, code: code) }
        guard case .map(.entries(let entries)) = map else { return nil }
        for entry in entries where try equal(entry.key, b: key, code: code) { return entry.value }
        return nil
    }

    mutating func index(_ value: Value, key: Value, code: Code) throws(Failure) -> Value {
        if let found = try element(of: value, key: key, code: code) { return found }
        if case .map = value { throw code.failure(.missingKey) }
        throw code.failure(.index)
    }

    /// Returns the value of a key in a map, or the element of a list. It is nil if there is none. An element of an optional is one of its value.
    mutating func element(of value: Value, key: Value, code: Code) throws(Failure) -> Value? {
        switch value {
        case .map: return try find(value, key: key, code: code)
        case .optional(let held): return try held.flatMap { (held) throws(Failure) in try element(of: held, key: key, code: code) }
        case .list(let list):
            guard let wanted = try position(key, code), wanted >= 0 else { return nil }
            switch list {
            case .values(let values): return wanted < values.count ? values[Int(wanted)] : nil
            case .json(let span): return try element(of: span, at: wanted, code)
            }
        default: throw code.failure(.noOverload)
        }
    }

    /// Returns the position in a list that a key means. It is nil if the key is a number that is no position.
    private func position(_ key: Value, _ code: Code) throws(Failure) -> Int64? {
        switch key {
        case .int(let value): return value
        case .uint(let value): return Int64(exactly: value)
        case .double(let value): return Int64(exactly: value)
        default: throw code.failure(.noOverload)
        }
    }

    private mutating func element(of list: JSONSpan, at wanted: Int64, _ code: Code) throws(Failure) -> Value? {
        var cursor = JSONCursor(list)
        var at: Int64 = 0
        while cursor.next() {
            try spend(1 + cursor.value.count >> 6, code)
            if at == wanted {
                if cursor.value.first == UInt8(ascii: "\"") { try make(cursor.value.count, code) }
                guard let value = cursor.value.value else { throw code.failure(.text) }
                return value
            }
            at += 1
        }
        return nil
    }

    mutating func contains(_ container: Value, value: Value, code: Code) throws(Failure) -> Bool {
        switch container {
        case .map: return try find(container, key: value, code: code) != nil
        case .list:
            var elements = Elements(container)
            while let element = try next(&elements, code) {
                if try equal(element, b: value, code: code) { return true }
            }
            return false
        default: throw code.failure(.noOverload)
        }
    }

    mutating func map(_ code: Code) throws(Failure) -> Value {
        assert(code.children.count % 2 == 0, "a key has no value")
        var entries: [MapEntry] = []
        for i in stride(from: 0, to: code.children.count, by: 2) {
            let key = try value(code.children[i])
            switch key {
            case .string, .bool, .int, .uint: break
            default: throw code.children[i].failure(.noOverload)
            }
            for entry in entries where try equal(entry.key, b: key, code: code) { throw code.children[i].failure(.duplicateKey) }
            try make(48, code)
            let child = code.children[i + 1]
            guard case .optionalEntry = child.kind else {
                entries.append(MapEntry(key: key, value: try value(child)))
                continue
            }
            if let held = try held(try value(child.children[0]), child) { entries.append(MapEntry(key: key, value: held)) }
        }
        return .map(.entries(entries))
    }
}

extension Value {
    /// The bytes that are read to compare or to convert it, if it is a text.
    var textBytes: Int {
        switch self {
        case .string(let text): text.bytes.count
        case .bytes(let bytes): bytes.count
        default: 0
        }
    }

    /// The number as a double. It is nil if the value is not a number.
    var asDouble: Double? {
        switch self {
        case .int(let value): Double(value)
        case .uint(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }
}
