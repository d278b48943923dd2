// The functions on strings. Expressions count positions in code points, never in bytes.

internal import CPlatform

extension Machine {
    mutating func string(_ function: Function, text: TextValue, code: Code) throws(Failure) -> Value {
        switch function {
        case .lowerAscii, .upperAscii:
            try make(text.bytes.count, code)
            let first = UInt8(ascii: function == .lowerAscii ? "A" : "a")
            return .string(TextValue(text.bytes.map { $0 &- first < 26 ? $0 ^ 0x20 : $0 }))
        case .trim: return .string(trimmed(text))
        case .quote:
            try make(text.bytes.count * 2, code)
            return .string(TextValue(quoted(text.bytes)))
        case .reverse:
            try make(text.bytes.count * 5, code)
            return .string(TextValue(text.scalars.reversed()))
        case .format:
            return .string(TextValue(try format(text.bytes, arguments: try elements(try value(code.children[1]), code), code: code)))
        case .charAt, .substring: return try slice(text, function: function, code: code)
        default: break
        }
        let other = try self.text(try value(code.children[1]), code)
        switch function {
        case .contains:
            try spend((text.bytes.count + other.bytes.count) >> 4, code)
            return .bool(find(other.bytes, in: text.bytes, from: 0) != nil)
        case .startsWith: return .bool(text.bytes.starts(with: other.bytes))
        case .endsWith:
            return .bool(text.bytes.count >= other.bytes.count && text.bytes.suffix(other.bytes.count).elementsEqual(other.bytes))
        case .indexOf, .lastIndexOf: return try indexOf(text, other: other, isLast: function == .lastIndexOf, code: code)
        case .split: return try split(text, separator: other, code: code)
        default: return try replace(text, old: other, code: code)
        }
    }

    private func trimmed(_ text: TextValue) -> TextValue {
        func isBlank(_ scalar: UnicodeScalar) -> Bool {
            switch scalar.value {
            case 0x09...0x0d, 0x20, 0x85, 0xa0, 0x1680, 0x2000...0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000: true
            default: false
            }
        }
        var scalars = text.string.unicodeScalars[...]
        while let first = scalars.first, isBlank(first) { scalars.removeFirst() }
        while let last = scalars.last, isBlank(last) { scalars.removeLast() }
        return TextValue(String(Substring(scalars)))
    }

    private func quoted(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [UInt8(ascii: "\"")]
        for byte in bytes {
            switch byte {
            case 0x07: result += "\\a".utf8
            case 0x08: result += "\\b".utf8
            case 0x0c: result += "\\f".utf8
            case 0x0a: result += "\\n".utf8
            case 0x0d: result += "\\r".utf8
            case 0x09: result += "\\t".utf8
            case 0x0b: result += "\\v".utf8
            case UInt8(ascii: "\\"), UInt8(ascii: "\""): result += [UInt8(ascii: "\\"), byte]
            default: result.append(byte)
            }
        }
        return result + [UInt8(ascii: "\"")]
    }

    private mutating func slice(_ text: TextValue, function: Function, code: Code) throws(Failure) -> Value {
        let start = try integer(try value(code.children[1]), code)
        try make(text.bytes.count * 4, code)
        let scalars = text.scalars
        let count = Int64(scalars.count)
        if function == .charAt {
            guard (0...count).contains(start) else { throw code.failure(.index) }
            return .string(start == count ? TextValue([]) : TextValue([scalars[Int(start)]]))
        }
        let end = code.children.count == 3 ? try integer(try value(code.children[2]), code) : count
        guard start >= 0, start <= end, end <= count else { throw code.failure(.index) }
        return .string(TextValue(scalars[Int(start)..<Int(end)]))
    }

    private mutating func indexOf(_ text: TextValue, other: TextValue, isLast: Bool, code: Code) throws(Failure) -> Value {
        try make(text.bytes.count + other.bytes.count, code)
        let count = Int64(text.count)
        var from = isLast ? count : 0
        if code.children.count == 3 {
            from = try integer(try value(code.children[2]), code)
            guard (0...count).contains(from) else { throw code.failure(.index) }
        }
        let limit = byteOffset(from, in: text.bytes)
        if isLast { try spend((text.bytes.count * other.bytes.count) >> 6, code) }
        let place = isLast ? findLast(other.bytes, in: text.bytes, upTo: limit) : find(other.bytes, in: text.bytes, from: limit)
        guard let place else { return .int(-1) }
        return .int(Int64(TextValue(Array(text.bytes[..<place])).count))
    }

    private func byteOffset(_ scalars: Int64, in bytes: [UInt8]) -> Int {
        assert(scalars >= 0, "a position lies before the text")
        var left = scalars
        for (i, byte) in bytes.enumerated() where byte & 0xc0 != 0x80 {
            if left == 0 { return i }
            left -= 1
        }
        return bytes.count
    }

    /// Returns the first position of the part at or after `from`. The time grows with the sum of their lengths.
    private func find(_ part: [UInt8], in bytes: [UInt8], from: Int) -> Int? {
        assert((0...bytes.count).contains(from), "a search begins outside the text")
        return bytes.withUnsafeBytes { bytes in
            part.withUnsafeBytes { part in
                firstPlace(of: part, in: UnsafeRawBufferPointer(rebasing: bytes[from...])).map { $0 + from }
            }
        }
    }

    private func findLast(_ part: [UInt8], in bytes: [UInt8], upTo: Int) -> Int? {
        var i = min(upTo, bytes.count - part.count)
        while i >= 0 {
            if bytes[i..<(i + part.count)].elementsEqual(part) { return i }
            i -= 1
        }
        return nil
    }

    private mutating func limit(_ place: Int, _ code: Code) throws(Failure) -> Int {
        guard code.children.count > place else { return .max }
        let limit = try integer(try value(code.children[place]), code)
        return limit < 0 ? .max : Int(limit)
    }

    /// Returns the positions of a part. The positions of an empty part are before every code point and at the end.
    private mutating func places(_ part: [UInt8], in bytes: [UInt8], most: Int, _ code: Code) throws(Failure) -> [Int] {
        var places: [Int] = []
        var at = 0
        while places.count < most {
            try spend(1, code)
            if part.isEmpty {
                guard at <= bytes.count else { break }
                places.append(at)
                at += 1
                while at < bytes.count, bytes[at] & 0xc0 == 0x80 { at += 1 }
            } else {
                guard let place = find(part, in: bytes, from: at) else { break }
                places.append(place)
                at = place + part.count
                assert(at <= bytes.count, "a part ends after the text")
            }
        }
        return places
    }

    private mutating func split(_ text: TextValue, separator: TextValue, code: Code) throws(Failure) -> Value {
        let most = try limit(2, code)
        if most == 0 { return .list(.values([])) }
        try make(text.bytes.count, code)
        var parts: [Value] = []
        var start = 0
        func add(_ end: Int) { parts.append(.string(TextValue(Array(text.bytes[start..<end])))) }
        let all = try places(separator.bytes, in: text.bytes, most: most == .max ? .max : most, code)
        try make(all.count * 48, code)
        for place in all where !separator.bytes.isEmpty || (place > 0 && place < text.bytes.count) {
            guard parts.count < most - 1 else { break }
            add(place)
            start = place + separator.bytes.count
        }
        if !(separator.bytes.isEmpty && text.bytes.isEmpty) { add(text.bytes.count) }
        return .list(.values(parts))
    }

    private mutating func replace(_ text: TextValue, old: TextValue, code: Code) throws(Failure) -> Value {
        let new = try self.text(try value(code.children[2]), code)
        let most = try limit(3, code)
        let places = try places(old.bytes, in: text.bytes, most: most, code)
        let (added, over) = places.count.multipliedReportingOverflow(by: new.bytes.count)
        guard !over else { throw code.failure(.size) }
        try make(text.bytes.count + added, code)
        var result: [UInt8] = []
        var start = 0
        for place in places {
            assert(place >= start, "two places of a part overlap")
            result += text.bytes[start..<place]
            result += new.bytes
            start = place + old.bytes.count
        }
        return .string(TextValue(result + text.bytes[start...]))
    }

    mutating func join(_ list: Value, _ code: Code) throws(Failure) -> Value {
        guard case .list = list else { throw code.failure(.noOverload) }
        let separator = code.children.count > 1 ? try text(try value(code.children[1]), code).bytes : []
        var elements = Elements(list)
        var result: [UInt8] = []
        var isFirst = true
        while let element = try next(&elements, code) {
            let part = try text(element, code)
            try make(part.bytes.count + separator.count, code)
            if !isFirst { result += separator }
            result += part.bytes
            isFirst = false
        }
        return .string(TextValue(result))
    }
}

/// Returns the first position of the part in the bytes. It is nil if the part does not occur.
func firstPlace(of part: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let needle = part.baseAddress, part.count > 0 else { return 0 }
    guard let start = bytes.baseAddress, let found = cplatform_find(start, bytes.count, needle, part.count) else { return nil }
    assert(found >= start && found - start <= bytes.count - part.count, "a part was found outside the bytes")
    return found - start
}
