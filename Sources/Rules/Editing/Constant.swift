// A constant of `set` while the plan is compiled. Later transforms of the same route can change its members. Objects are parsed;
// every other value stays as it is written.

internal import Events

public indirect enum Constant {
    case object([(key: [UInt8], value: Constant)])
    case text([UInt8])

    /// Parses JSON text that the configuration has checked.
    public init(json: String) {
        var parser = ConstantParser(bytes: Array(json.utf8))
        self = parser.parse()
    }

    /// The JSON text on one line, without spaces around the members of objects.
    public var json: [UInt8] {
        switch self {
        // A line break can only stand between two tokens, because a string must escape it.
        case .text(let bytes): return bytes.map { $0 == 0x0a || $0 == 0x0d ? 0x20 : $0 }
        case .object(let members):
            var out: [UInt8] = [UInt8(ascii: "{")]
            for (i, member) in members.enumerated() {
                if i > 0 { out.append(UInt8(ascii: ",")) }
                out += Constant.member(member.key) + member.value.json
            }
            return out + [UInt8(ascii: "}")]
        }
    }

    /// Returns the key in quotes, with its colon.
    public static func member(_ key: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [UInt8(ascii: "\"")]
        for byte in key {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                out += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: out.append(byte)
            }
        }
        return out + Array("\":".utf8)
    }

    // MARK: - Edits

    public mutating func drop(_ path: ArraySlice<[UInt8]>) {
        guard case .object(var members) = self, let key = path.first else { return }
        if path.count == 1 {
            members.removeAll { $0.key == key }
        } else {
            for i in members.indices where members[i].key == key { members[i].value.drop(path.dropFirst()) }
        }
        self = .object(members)
    }

    public mutating func set(_ path: ArraySlice<[UInt8]>, _ value: Constant) {
        guard let key = path.first else {
            self = value
            return
        }
        var members: [(key: [UInt8], value: Constant)] = []
        if case .object(let own) = self { members = own }
        if let i = members.firstIndex(where: { $0.key == key }) {
            members[i].value.set(path.dropFirst(), value)
        } else {
            var inner = Constant.object([])
            inner.set(path.dropFirst(), value)
            members.append((key, inner))
        }
        self = .object(members)
    }

    public mutating func hash(_ path: ArraySlice<[UInt8]>, _ key: HMACKey) {
        guard let name = path.first else {
            self = digest(key)
            return
        }
        guard case .object(var members) = self else { return }
        for i in members.indices where members[i].key == name { members[i].value.hash(path.dropFirst(), key) }
        self = .object(members)
    }

    /// Returns the hash of this value. Null stays null.
    public func digest(_ key: HMACKey) -> Constant {
        let bytes = json
        if bytes == Array("null".utf8) { return self }
        var decoder = Decoder()
        let digits = bytes.withUnsafeBufferPointer { bytes in
            var out = [UInt8](repeating: UInt8(ascii: "\""), count: 66)
            out.withUnsafeMutableBufferPointer {
                key.write(decoder.message(of: ByteRun(base: bytes.baseAddress!, count: bytes.count)), to: $0.baseAddress! + 1)
            }
            return out
        }
        return .text(digits)
    }
}

private struct ConstantParser {
    let bytes: [UInt8]
    var at = 0

    mutating func parse() -> Constant { value() ?? .text(bytes) }

    private mutating func skip() {
        while at < bytes.count, bytes[at] <= 0x20 { at += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skip()
        guard at < bytes.count, bytes[at] == byte else { return false }
        at += 1
        return true
    }

    private mutating func value() -> Constant? {
        guard take(UInt8(ascii: "{")) else { return other() }
        var members: [(key: [UInt8], value: Constant)] = []
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skip()
            guard let key = string(), take(UInt8(ascii: ":")), let value = value() else { return nil }
            members.append((key, value))
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? .object(members) : nil
    }

    /// Returns the decoded key. A key with a lone surrogate stays as it is written, because no path can name it.
    private mutating func string() -> [UInt8]? {
        let start = at
        guard skipString() else { return nil }
        let raw = Array(bytes[(start + 1)..<(at - 1)])
        var decoder = Decoder()
        return raw.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return [] }
            return decoder.decode(ByteRun(base: base, count: buffer.count)).map { Array($0.bytes) } ?? raw
        }
    }

    private mutating func skipString() -> Bool {
        guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return false }
        at += 1
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
        at += 1
        return at <= bytes.count
    }

    /// Returns a value that is not an object. It ends at the next comma or closing bracket around it.
    private mutating func other() -> Constant? {
        skip()
        let start = at
        var depth = 0
        scan: while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                guard skipString() else { return nil }
                continue scan
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 { break scan }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0: break scan
            default: break
            }
            at += 1
        }
        var end = at
        while end > start, bytes[end - 1] <= 0x20 { end -= 1 }
        return end > start ? .text(Array(bytes[start..<end])) : nil
    }
}
