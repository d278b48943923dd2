// `format`: %s %d %f %e %x %X %o %b and %%, as the strings extension of CEL defines them.

internal import Events
internal import Glibc

extension Machine {
    private static let mostPrecision = 100

    mutating func format(_ text: [UInt8], arguments: [Value], code: Code) throws(Failure) -> [UInt8] {
        var result: [UInt8] = []
        var used = 0
        var i = 0
        while i < text.count {
            guard text[i] == UInt8(ascii: "%") else {
                result.append(text[i])
                i += 1
                continue
            }
            i += 1
            var precision: Int?
            if i < text.count, text[i] == UInt8(ascii: ".") {
                i += 1
                let start = i
                while i < text.count, isDigit(text[i]), i - start < 4 { i += 1 }
                precision = Int(String(decoding: text[start..<i], as: UTF8.self))
                guard let precision, precision <= Machine.mostPrecision else { throw code.failure(.format) }
            }
            guard i < text.count else { throw code.failure(.format) }
            let verb = text[i]
            i += 1
            if verb == UInt8(ascii: "%") {
                result.append(verb)
                continue
            }
            guard used < arguments.count else { throw code.failure(.format) }
            let before = result.count
            try write(verb, precision: precision ?? 6, value: arguments[used], into: &result, code: code)
            try make(result.count - before, code)
            used += 1
        }
        return result
    }

    private mutating func write(
        _ verb: UInt8, precision: Int, value: Value, into result: inout [UInt8], code: Code
    ) throws(Failure) {
        switch (verb, value) {
        case (UInt8(ascii: "s"), _): try writeText(value, into: &result, code, depth: 0)
        case (UInt8(ascii: "d"), .int(let number)): result += String(number).utf8
        case (UInt8(ascii: "d"), .uint(let number)): result += String(number).utf8
        case (UInt8(ascii: "d"), .double(let number)) where !number.isFinite: result += Machine.text(number).utf8
        case (UInt8(ascii: "f"), _), (UInt8(ascii: "e"), _):
            guard let number = value.asDouble else { throw code.failure(.format) }
            result += formatted(number, verb: verb, precision: precision)
        case (UInt8(ascii: "b"), .bool(let value)): result.append(UInt8(ascii: value ? "1" : "0"))
        case (UInt8(ascii: "b"), .int(let number)): result += String(number, radix: 2).utf8
        case (UInt8(ascii: "b"), .uint(let number)): result += String(number, radix: 2).utf8
        case (UInt8(ascii: "o"), .int(let number)): result += String(number, radix: 8).utf8
        case (UInt8(ascii: "o"), .uint(let number)): result += String(number, radix: 8).utf8
        case (UInt8(ascii: "x"), _), (UInt8(ascii: "X"), _):
            let isUpper = verb == UInt8(ascii: "X")
            switch value {
            case .int(let number): result += String(number, radix: 16, uppercase: isUpper).utf8
            case .uint(let number): result += String(number, radix: 16, uppercase: isUpper).utf8
            case .string(let text): result += hex(text.bytes, isUpper)
            case .bytes(let bytes): result += hex(bytes, isUpper)
            default: throw code.failure(.format)
            }
        default: throw code.failure(.format)
        }
    }

    private func hex(_ bytes: [UInt8], _ isUpper: Bool) -> [UInt8] {
        let digits = Array((isUpper ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    private func formatted(_ number: Double, verb: UInt8, precision: Int) -> [UInt8] {
        guard number.isFinite else { return Array(Machine.text(number).utf8) }
        // The largest double has 309 digits before its point, and the precision is at most 100.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
            let count = withVaList([Int32(precision), number]) {
                vsnprintf(buffer.baseAddress, buffer.count, verb == UInt8(ascii: "f") ? "%.*f" : "%.*e", $0)
            }
            return buffer[..<Int(max(0, count))].map { UInt8(bitPattern: $0) }
        }
    }

    private mutating func writeText(_ value: Value, into result: inout [UInt8], _ code: Code, depth: Int) throws(Failure) {
        guard depth < Machine.deepest else { throw code.failure(.depth) }
        try spend(1, code)
        switch value {
        case .bytes(let bytes): result += TextValue(String(decoding: bytes, as: UTF8.self)).bytes
        case .list:
            var elements = Elements(value)
            var isFirst = true
            result.append(UInt8(ascii: "["))
            while let element = try next(&elements, code) {
                if !isFirst { result += ", ".utf8 }
                isFirst = false
                try writeText(element, into: &result, code, depth: depth + 1)
            }
            result.append(UInt8(ascii: "]"))
        case .map:
            var keys = Elements(value)
            var entries: [(key: [UInt8], value: [UInt8])] = []
            while let key = try next(&keys, code) {
                var entry: (key: [UInt8], value: [UInt8]) = ([], [])
                try writeText(key, into: &entry.key, code, depth: depth + 1)
                try writeText(try index(value, key: key, code: code), into: &entry.value, code, depth: depth + 1)
                try make(entry.key.count + entry.value.count, code)
                entries.append(entry)
            }
            entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
            result.append(UInt8(ascii: "{"))
            for (i, entry) in entries.enumerated() {
                if i > 0 { result += ", ".utf8 }
                result += entry.key + Array(": ".utf8) + entry.value
            }
            result.append(UInt8(ascii: "}"))
        default:
            guard let text = Machine.text(value) else { throw code.failure(.format) }
            result += text.utf8
        }
    }
}
