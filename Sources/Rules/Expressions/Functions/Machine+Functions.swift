// Calls functions. The types of the actual values decide which overload runs.

internal import Events

extension Machine {
    mutating func call(_ function: Function, _ code: Code) throws(Failure) -> Value {
        if function.isOfOptionals { return try optional(function, code) }
        let first = try value(code.children[0])
        if function.readsFirst { try spend(first.textBytes >> 6, code) }
        switch function {
        case .size: return .int(Int64(try size(first, code)))
        case .type: return .type(first.typeName)
        case .dyn: return first
        case .json: return .string(TextValue(try json(first, code)))
        case .int, .uint, .double, .string, .bytes, .bool, .timestamp, .duration: return try convert(first, function: function, code: code)
        case .ip:
            if case .ip = first { return first }
            guard let address = IPAddress(try text(first, code).bytes) else { throw code.failure(.address) }
            return .ip(address)
        case .isIP: return .bool(IPAddress(try text(first, code).bytes) != nil)
        case .version:
            if case .version = first { return first }
            guard let version = VersionNumber(try text(first, code)) else { throw code.failure(.version) }
            return .version(version)
        case .isPrivate: return .bool(try address(first, code).isPrivate)
        case .isLoopback: return .bool(try address(first, code).isLoopback)
        case .isLinkLocal: return .bool(try address(first, code).isLinkLocal)
        case .family: return .int(try address(first, code).isV4 ? 4 : 6)
        case .inside: return .bool(try isInside(try address(first, code), networks: try value(code.children[1]), code: code))
        case .glob:
            let pattern = try text(try value(code.children[1]), code)
            let name = try text(first, code)
            // A pattern with many stars can cost this much in the worst case.
            try spend((name.bytes.count * pattern.bytes.count) >> 6, code)
            return .bool(
                name.bytes.withUnsafeBufferPointer { name in
                    pattern.bytes.withUnsafeBufferPointer { matchesGlob(name, $0) }
                })
        case .matches: return .bool(try matches(try text(first, code), code))
        case .getFullYear, .getMonth, .getDate, .getDayOfMonth, .getDayOfWeek, .getDayOfYear, .getHours, .getMinutes, .getSeconds,
            .getMilliseconds:
            return .int(try part(function, value: first, code: code))
        case .greatest, .least: return try extreme(function, first, code)
        case .abs, .sign, .sqrt, .ceil, .floor, .round, .trunc, .isNaN, .isInf, .isFinite: return try math(function, first, code)
        case .bitAnd, .bitOr, .bitXor, .bitNot, .bitShiftLeft, .bitShiftRight: return try bits(function, first, code)
        case .encodeBase64, .decodeBase64: return try base64(function, first, code)
        case .optionalOf, .optionalOfNonZeroValue, .optionalNone, .hasValue, .value, .or, .orValue: throw code.failure(.unknownFunction)
        case .join: return try join(first, code)
        case .contains, .startsWith, .endsWith, .charAt, .indexOf, .lastIndexOf, .lowerAscii, .upperAscii, .replace, .split, .substring,
            .trim, .format, .quote, .reverse:
            return try string(function, text: try text(first, code), code: code)
        }
    }

    func text(_ value: Value, _ code: Code) throws(Failure) -> TextValue {
        guard case .string(let text) = value else { throw code.failure(.noOverload) }
        return text
    }

    func integer(_ value: Value, _ code: Code) throws(Failure) -> Int64 {
        switch value {
        case .int(let number): return number
        case .uint(let number): return Int64(exactly: number) ?? .max
        default: throw code.failure(.noOverload)
        }
    }

    /// Returns the value as JSON text.
    private mutating func json(_ value: Value, _ code: Code) throws(Failure) -> [UInt8] {
        var buffer = ByteBuffer()
        try write(value, to: &buffer, code)
        return Array(buffer.bytes)
    }

    private func address(_ value: Value, _ code: Code) throws(Failure) -> IPAddress {
        guard case .ip(let address) = value else { throw code.failure(.noOverload) }
        return address
    }

    private mutating func isInside(_ address: IPAddress, networks: Value, code: Code) throws(Failure) -> Bool {
        if case .list = networks {
            var elements = Elements(networks)
            while let element = try next(&elements, code) {
                if try isInside(address, networks: element, code: code) { return true }
            }
            return false
        }
        try spend(networks.textBytes >> 6, code)
        guard let network = IPNetwork(try text(networks, code).bytes) else { throw code.failure(.network) }
        return network.contains(address)
    }

    private mutating func matches(_ text: TextValue, _ code: Code) throws(Failure) -> Bool {
        let pattern = try pattern(code)
        try spend(pattern.steps(toRead: text.bytes.count), code)
        return pattern.matches(text.bytes)
    }

    /// Returns the pattern of a call of `matches`. It was compiled with the expression, or else it is compiled now.
    private mutating func pattern(_ code: Code) throws(Failure) -> CompiledPattern {
        if let pattern = code.pattern { return pattern }
        let text = try self.text(try value(code.children[1]), code)
        if let last = lastPattern, last.text == text.bytes { return last.pattern }
        try spend(CompiledPattern.stepsToCompile + text.bytes.count, code)
        let compiled: CompiledPattern
        do throws(PatternFault) {
            compiled = try CompiledPattern(text.bytes)
        } catch {
            try spend(CompiledPattern.stepsOfFailure, code)
            throw code.failure(error.isMissing ? .patternLibrary : .pattern)
        }
        try spend(compiled.instructions, code)
        lastPattern = (text.bytes, compiled)
        return compiled
    }

    private mutating func part(_ function: Function, value: Value, code: Code) throws(Failure) -> Int64 {
        if case .duration(let duration) = value {
            switch function {
            case .getHours: return duration / 3_600_000_000_000
            case .getMinutes: return duration / 60_000_000_000
            case .getSeconds: return duration / 1_000_000_000
            case .getMilliseconds: return duration % 1_000_000_000 / 1_000_000
            default: throw code.failure(.noOverload)
            }
        }
        guard case .timestamp(let time) = value else { throw code.failure(.noOverload) }
        var seconds = time.seconds
        if code.children.count == 2 {
            let zone = try text(try self.value(code.children[1]), code)
            try spend(zone.bytes.count >> 6, code)
            guard let offset = TimeZones.offset(of: zone.bytes, at: seconds) else { throw code.failure(.zone) }
            seconds += offset
        }
        if function == .getMilliseconds { return Int64(time.nanoseconds / 1_000_000) }
        let civil = Civil(seconds)
        switch function {
        case .getFullYear: return civil.year
        case .getMonth: return civil.month - 1
        case .getDate: return civil.day
        case .getDayOfMonth: return civil.day - 1
        case .getDayOfWeek: return civil.weekday
        case .getDayOfYear: return civil.yearday
        case .getHours: return civil.hour
        case .getMinutes: return civil.minute
        default: return civil.second
        }
    }
}

extension Function {
    /// True if it makes or reads an optional.
    fileprivate var isOfOptionals: Bool {
        switch self {
        case .optionalOf, .optionalOfNonZeroValue, .optionalNone, .hasValue, .value, .or, .orValue: true
        default: false
        }
    }

    /// True if each call may read its first argument as a whole. The others do not read it, or count their own steps for it.
    fileprivate var readsFirst: Bool {
        switch self {
        case .size, .type, .dyn, .json, .matches, .contains: false
        default: true
        }
    }
}

/// Returns true if the text matches the pattern. `*` matches any run of characters, and every other character matches itself.
func matchesGlob(_ text: UnsafeBufferPointer<UInt8>, _ pattern: UnsafeBufferPointer<UInt8>) -> Bool {
    var i = 0
    var j = 0
    var star = -1
    var mark = 0
    while i < text.count {
        if j < pattern.count, pattern[j] == UInt8(ascii: "*") {
            star = j
            mark = i
            j += 1
        } else if j < pattern.count, pattern[j] == text[i] {
            i += 1
            j += 1
        } else if star >= 0 {
            mark += 1
            i = mark
            j = star + 1
        } else {
            return false
        }
    }
    while j < pattern.count, pattern[j] == UInt8(ascii: "*") { j += 1 }
    return j == pattern.count
}
