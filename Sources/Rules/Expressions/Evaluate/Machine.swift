// Runs code on an event. The result is a value, or the reason why there is none. A run always ends, because steps, bytes and levels
// are limited.

internal import Events
internal import Glibc

/// The state with which code runs. Each thread has its own. After a run only memory and the last pattern remain, which the next run uses.
struct Machine: ~Copyable {
    /// The event on which the code runs. It is nil if the code runs only on variables.
    var event: ScannedEvent?
    /// The slot of each path.
    var slots: UnsafePointer<Int>?
    /// The slot of the object that holds the member, for each path.
    var parents: UnsafePointer<Int>?
    var variables: [String: Value] = [:]
    var now: Int64 = 0
    var source: TextValue?
    var locals: [Value] = []
    var lastPattern: (text: [UInt8], pattern: CompiledPattern)?
    /// The steps that are left for the event. They are nil if only the evaluation is limited.
    var eventSteps: EventSteps?
    private let limits: ExpressionLimits
    private var steps = 0
    private var bytes = 0

    init(limits: ExpressionLimits) { self.limits = limits }

    mutating func run(_ code: Code) throws(Failure) -> Value {
        let allowed = begin()
        defer { end(allowed) }
        do throws(Failure) {
            return try value(code)
        } catch {
            throw reported(error, allowed)
        }
    }

    /// Appends the value of the code as JSON. The text is a value that the evaluation makes: it takes steps and bytes like any other. If it
    /// fails, a part may be written.
    mutating func write(_ code: Code, to buffer: inout ByteBuffer) throws(Failure) {
        let allowed = begin()
        defer { end(allowed) }
        do throws(Failure) {
            try write(try value(code), to: &buffer, code)
        } catch {
            throw reported(error, allowed)
        }
    }

    /// Appends a value as JSON.
    mutating func write(_ value: Value, to buffer: inout ByteBuffer, _ code: Code) throws(Failure) {
        let before = buffer.count
        if let problem = value.problem(ofWritingTo: &buffer, most: before + bytesLeft) { throw code.failure(problem) }
        try make(buffer.count - before, code)
    }

    /// Begins an evaluation. Returns the steps that it may take.
    private mutating func begin() -> Int {
        let allowed = min(limits.steps, eventSteps?.available ?? .max)
        steps = allowed
        bytes = limits.bytes
        locals.removeAll(keepingCapacity: true)
        return allowed
    }

    /// Takes the steps of an evaluation from those of the event.
    private func end(_ allowed: Int) {
        let areTaken = eventSteps?.take(allowed - max(0, steps)) ?? true
        assert(areTaken, "an evaluation took more steps than were left")
    }

    /// Returns the failure with its true reason: the steps of the event, if these were fewer than those of an evaluation.
    private func reported(_ failure: Failure, _ allowed: Int) -> Failure {
        guard failure.problem == .steps, allowed < limits.steps else { return failure }
        return Failure(problem: .eventSteps, start: failure.start, end: failure.end)
    }

    @inline(__always) mutating func spend(_ count: Int, _ code: Code) throws(Failure) {
        assert(count >= 0, "steps are given back")
        steps -= count
        if steps < 0 { throw code.failure(.steps) }
    }

    /// The bytes that values may still have.
    var bytesLeft: Int { max(0, bytes) }

    /// Counts the bytes of a value before it is made.
    mutating func make(_ count: Int, _ code: Code) throws(Failure) {
        assert(count >= 0, "bytes are given back")
        bytes -= count
        if bytes < 0 { throw code.failure(.size) }
        try spend(count >> 6, code)
    }

    mutating func value(_ code: Code) throws(Failure) -> Value {
        try spend(1, code)
        switch code.kind {
        case .constant: return code.constant
        case .member: return try member(code)
        case .testMember: return .bool(try hasMember(code))
        case .optionalMember: return .optional(try hasMember(code) ? try member(code) : nil)
        case .local: return locals[code.index]
        case .declared:
            guard let value = variables[code.declaredName] else { throw code.failure(.unknownName) }
            return value
        case .now: return .timestamp(Timestamp(nanosecondsSince1970: now))
        case .source:
            guard let source else { throw code.failure(.unknownName) }
            return .string(source)
        case .unknown: throw code.failure(.unknownName)
        case .unknownCall: throw code.failure(.unknownFunction)
        case .select:
            let base = try value(code.children[0])
            if case .optional = base { return .optional(try select(from: base, code)) }
            guard let found = try lookup(base, key: code.key, code: code) else { throw code.failure(.missingKey) }
            return found
        case .test: return .bool(try select(from: try value(code.children[0]), code) != nil)
        case .optionalSelect: return .optional(try select(from: try value(code.children[0]), code))
        case .index, .optionalIndex:
            let base = try value(code.children[0])
            let key = try value(code.children[1])
            if case .optional = base { return .optional(try element(of: base, key: key, code: code)) }
            if case .optionalIndex = code.kind { return .optional(try element(of: base, key: key, code: code)) }
            return try index(base, key: key, code: code)
        case .optionalEntry: throw code.failure(.noOverload)
        case .and: return .bool(try joined(code, deciding: false))
        case .or: return .bool(try joined(code, deciding: true))
        case .not:
            guard case .bool(let value) = try value(code.children[0]) else { throw code.failure(.noOverload) }
            return .bool(!value)
        case .conditional:
            let condition = code.children[0]
            guard case .bool(let holds) = try value(condition) else { throw condition.failure(.notBoolean) }
            return try value(code.children[holds ? 1 : 2])
        case .negate:
            switch try value(code.children[0]) {
            case .int(let value):
                guard value != .min else { throw code.failure(.overflow) }
                return .int(-value)
            case .double(let value): return .double(-value)
            default: throw code.failure(.noOverload)
            }
        case .equal(let isNegated):
            return .bool(try equal(try value(code.children[0]), b: try value(code.children[1]), code: code) != isNegated)
        case .order(let comparison):
            let left = try value(code.children[0])
            let right = try value(code.children[1])
            try spend(min(left.textBytes, right.textBytes) >> 6, code)
            guard let order = left.order(right) else { throw code.failure(.noOverload) }
            return .bool(order.satisfies(comparison))
        case .contains: return .bool(try contains(try value(code.children[1]), value: try value(code.children[0]), code: code))
        case .arithmetic(let kind): return try arithmetic(kind, a: try value(code.children[0]), b: try value(code.children[1]), code: code)
        case .list:
            try make(code.children.count * 24, code)
            var values: [Value] = []
            values.reserveCapacity(code.children.count)
            for child in code.children {
                if case .optionalEntry = child.kind {
                    if let held = try held(try value(child.children[0]), child) { values.append(held) }
                } else {
                    values.append(try value(child))
                }
            }
            return .list(.values(values))
        case .map: return try map(code)
        case .macro(.bind): return try bind(code)
        case .macro(.optMap), .macro(.optFlatMap): return try mapOptional(code)
        case .macro(let kind): return try macro(kind, code)
        case .call(let function): return try call(function, code)
        }
    }

    // MARK: Members of the event

    private mutating func member(_ code: Code) throws(Failure) -> Value {
        guard let event, let slots else { throw code.failure(.unknownName) }
        let slot = event.slots[slots[code.index]]
        if slot.isPresent {
            guard let value = try self.read(event.block, slot: slot, code: code) else { throw code.failure(.text) }
            return value
        }
        if let name = code.typeName { return .type(name) }
        throw code.failure(.missingMember)
    }

    private mutating func read(_ block: Bytes, slot: Slot, code: Code) throws(Failure) -> Value? {
        let span = JSONSpan(block + Int(slot.start), block + Int(slot.end))
        if span.first == UInt8(ascii: "\"") { try make(span.count, code) }
        return span.value
    }

    private func hasMember(_ code: Code) throws(Failure) -> Bool {
        guard let event, let slots, let parents else { throw code.failure(.unknownName) }
        if event.slots[slots[code.index]].isPresent { return true }
        let holder = event.slots[parents[code.index]]
        guard holder.isPresent else { throw code.failure(.missingMember) }
        guard event.block[Int(holder.start)] == UInt8(ascii: "{") else { throw code.failure(.noOverload) }
        return false
    }

    // MARK: Logic

    /// Evaluates `&&` and `||`. Each side alone can decide, even if the other side fails, unless it reaches a limit.
    private mutating func joined(_ code: Code, deciding: Bool) throws(Failure) -> Bool {
        var failure: Failure?
        for child in code.children {
            do throws(Failure) {
                guard case .bool(let holds) = try value(child) else { throw child.failure(.notBoolean) }
                if holds == deciding { return deciding }
            } catch {
                if error.problem == .steps || error.problem == .size { throw error }
                if failure == nil { failure = error }
            }
        }
        if let failure { throw failure }
        return !deciding
    }

    /// Evaluates `cel.bind(variable, value, expression)`.
    private mutating func bind(_ code: Code) throws(Failure) -> Value {
        let bound = try value(code.children[0])
        assert(locals.count == code.index, "a macro uses the variable of another one")
        locals.append(bound)
        defer { locals.removeLast() }
        return try value(code.children[1])
    }

    private mutating func macro(_ kind: Node.Macro.Kind, _ code: Code) throws(Failure) -> Value {
        let range = code.children[0]
        var elements = Elements(try value(range))
        guard elements.isValid else { throw range.failure(.noOverload) }
        assert(locals.count == code.index, "a macro uses the variable of another one")
        locals.append(contentsOf: repeatElement(.null, count: code.hasPair ? 2 : 1))
        defer { locals.removeLast(code.hasPair ? 2 : 1) }
        var failure: Failure?
        var found = 0
        var values: [Value] = []
        var entries: [MapEntry] = []
        var number: Int64 = 0
        while let element = try next(&elements, range) {
            if code.hasPair {
                let held = try valueOfKey(elements, range)
                locals[code.index] = held == nil ? .int(number) : element
                locals[code.index + 1] = held ?? element
                number += 1
            } else {
                locals[code.index] = element
            }
            var holds = true
            if code.hasCondition {
                let condition = code.children[1]
                do throws(Failure) {
                    guard case .bool(let answer) = try value(condition) else { throw condition.failure(.notBoolean) }
                    holds = answer
                } catch {
                    guard kind == .all || kind == .exists, error.problem != .steps, error.problem != .size else { throw error }
                    if failure == nil { failure = error }
                    continue
                }
            }
            switch kind {
            case .all: if !holds { return .bool(false) }
            case .exists: if holds { return .bool(true) }
            case .existsOne: found += holds ? 1 : 0
            case .filter, .map, .bind, .optMap, .optFlatMap:
                guard holds else { continue }
                try make(24, code)
                values.append(kind == .map ? try value(code.children[code.children.count - 1]) : element)
            case .transformMap:
                guard holds else { continue }
                try make(48, code)
                let key = locals[code.index]
                entries.append(MapEntry(key: key, value: try value(code.children[code.children.count - 1])))
            case .transformMapEntry:
                guard holds else { continue }
                let transform = code.children[code.children.count - 1]
                try merge(try value(transform), into: &entries, transform)
            }
        }
        if let failure { throw failure }
        switch kind {
        case .all: return .bool(true)
        case .exists: return .bool(false)
        case .existsOne: return .bool(found == 1)
        case .filter, .map, .bind, .optMap, .optFlatMap: return .list(.values(values))
        case .transformMap, .transformMapEntry: return .map(.entries(entries))
        }
    }

    /// Adds the entries of a map to those that transformMapEntry has made. No two have the same key.
    private mutating func merge(_ map: Value, into entries: inout [MapEntry], _ code: Code) throws(Failure) {
        guard case .map = map else { throw code.failure(.noOverload) }
        var keys = Elements(map)
        while let key = try next(&keys, code) {
            // Each key is compared with all before.
            try spend(entries.count >> 4, code)
            for entry in entries where try equal(entry.key, b: key, code: code) { throw code.failure(.duplicateKey) }
            try make(48, code)
            entries.append(MapEntry(key: key, value: try valueOfKey(keys, code) ?? .null))
        }
    }

    /// Returns the next element of a list or the next key of a map. It is nil at the end.
    mutating func next(_ elements: inout Elements, _ code: Code) throws(Failure) -> Value? {
        try spend(1, code)
        switch elements.source {
        case .values(let values):
            guard elements.at < values.count else { return nil }
            elements.at += 1
            return values[elements.at - 1]
        case .entries(let entries):
            guard elements.at < entries.count else { return nil }
            elements.at += 1
            return entries[elements.at - 1].key
        case .json(var cursor, let isMap):
            guard cursor.next() else { return nil }
            elements.source = .json(cursor, isMap: isMap)
            let span = isMap ? cursor.key : cursor.value
            try spend((cursor.value.count + (isMap ? cursor.key.count : 0)) >> 6, code)
            if span.first == UInt8(ascii: "\"") { try make(span.count, code) }
            guard let value = span.value else { throw code.failure(.text) }
            return value
        case .none: return nil
        }
    }

    /// Returns the value of the key that `next` returned last. It is nil if the elements are those of a list.
    private mutating func valueOfKey(_ elements: Elements, _ code: Code) throws(Failure) -> Value? {
        switch elements.source {
        case .entries(let entries): return entries[elements.at - 1].value
        case .json(let cursor, isMap: true):
            if cursor.value.first == UInt8(ascii: "\"") { try make(cursor.value.count, code) }
            guard let value = cursor.value.value else { throw code.failure(.text) }
            return value
        case .json, .values, .none: return nil
        }
    }

    struct Elements {
        enum Source {
            case none
            case values([Value])
            case entries([MapEntry])
            case json(JSONCursor, isMap: Bool)
        }
        var source: Source
        var at = 0

        init(_ value: Value) {
            switch value {
            case .list(.values(let values)): source = .values(values)
            case .map(.entries(let entries)): source = .entries(entries)
            case .list(.json(let span)): source = .json(JSONCursor(span), isMap: false)
            case .map(.json(let span)): source = .json(JSONCursor(span), isMap: true)
            default: source = .none
            }
        }

        var isValid: Bool { if case .none = source { false } else { true } }
    }
}
