// The common tools of the tests of this module: a block that ends before an inaccessible page, and a slow, simple model.

import Events
import Glibc

/// One line. The 64 bytes after its newline end exactly where an inaccessible page begins.
final class TightLine {
    private let memory: UnsafeMutableRawPointer
    private let size: Int
    let bytes: Bytes

    /// `filler` is the byte after the newline, which must not influence the scanner.
    init(_ line: [UInt8], before: Int = 0, filler: UInt8 = UInt8(ascii: "\n")) {
        let page = 4096
        let needed = before + line.count + 1 + Block.padding
        size = (needed + page - 1) / page * page + page
        memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        precondition(memory != MAP_FAILED)
        precondition(mprotect(memory + size - page, page, PROT_NONE) == 0)
        let text = (memory + size - page - needed).assumingMemoryBound(to: UInt8.self)
        text.update(repeating: UInt8(ascii: "x"), count: before)
        for (i, byte) in line.enumerated() { text[before + i] = byte }
        text[before + line.count] = UInt8(ascii: "\n")
        (text + before + line.count + 1).update(repeating: filler, count: Block.padding)
        bytes = Bytes(text)
    }

    deinit { munmap(memory, size) }
}

/// The result of one scan, copied out of the scanner.
struct Scanned: Equatable {
    var fault: Fault?
    var lineEnd = 0
    var end = 0
    var slots: [Slot] = []
    var isEvent: Bool { fault == nil }
}

func scan(
    _ line: [UInt8], _ paths: PathTrie = PathTrie([]), depth: Int = 512, lookahead: Lookahead = .fastest, before: Int = 0,
    filler: UInt8 = UInt8(ascii: "\n")
) -> Scanned {
    var scanner = Scanner(paths, depth: depth, lookahead: lookahead)
    return scan(line, paths, with: &scanner, before: before, filler: filler)
}

func scan(_ line: [UInt8], _ paths: PathTrie, with scanner: inout Scanner, before: Int = 0, filler: UInt8 = UInt8(ascii: "\n")) -> Scanned {
    let block = TightLine(line, before: before, filler: filler)
    guard let event = scanner.scan(block.bytes, UInt32(before)) else {
        return Scanned(fault: scanner.fault, lineEnd: Int(scanner.lineEnd))
    }
    return Scanned(
        lineEnd: Int(scanner.lineEnd), end: Int(event.end), slots: (0..<paths.count).map { event.slots[$0] })
}

/// Returns true if the line is an event. All methods of searching must agree, whatever bytes follow the line.
func isEvent(_ line: [UInt8], _ paths: PathTrie = PathTrie([]), depth: Int = 512) -> Bool {
    let first = scan(line, paths, depth: depth, lookahead: .words)
    var agree = true
    for lookahead in Lookahead.supported {
        for filler in [UInt8(ascii: "\""), UInt8(ascii: "0"), 0x80] {
            agree = agree && scan(line, paths, depth: depth, lookahead: lookahead, filler: filler) == first
        }
    }
    precondition(agree, "the ways of looking ahead disagree on \(String(decoding: line, as: UTF8.self))")
    return first.isEvent
}

func paths(_ texts: String...) -> PathTrie { PathTrie(texts.map { try! Path(parsing: $0) }) }

/// A direct implementation of RFC 8259. It is slow and recursive, and uses the strings and arrays of Swift.
struct Model {
    let text: [UInt8]
    var at = 0
    /// The paths of all members outside of arrays, in order, with the ranges of their values.
    var members: [(Path, Range<Int>)] = []

    init(_ text: [UInt8]) { self.text = text }

    /// Returns true if the text is one object with only blanks around it.
    mutating func isEvent() -> Bool {
        blanks()
        guard peek == UInt8(ascii: "{"), value([]) else { return false }
        blanks()
        return at == text.count
    }

    private var peek: UInt8? { at < text.count ? text[at] : nil }
    private mutating func take(_ byte: Character) -> Bool {
        guard peek == byte.asciiValue else { return false }
        at += 1
        return true
    }
    private mutating func blanks() { while let c = peek, [0x20, 0x09, 0x0d].contains(c) { at += 1 } }

    private mutating func value(_ path: [String]?) -> Bool {
        if take("{") { return object(path) }
        if take("[") { return array() }
        if peek == UInt8(ascii: "\"") { return string() != nil }
        for word in ["true", "false", "null"] where text[at...].starts(with: word.utf8) {
            at += word.utf8.count
            return true
        }
        return number()
    }

    private mutating func object(_ path: [String]?) -> Bool {
        blanks()
        if take("}") { return true }
        repeat {
            blanks()
            guard let key = string() else { return false }
            blanks()
            guard take(":") else { return false }
            blanks()
            let start = at
            // A key with a lone surrogate is not valid text and has no path.
            let inner: [String]?
            if let path, let text = key.text { inner = path + [text] } else { inner = nil }
            guard value(inner) else { return false }
            if let inner { members.append((Path(keys: inner), start..<at)) }
            blanks()
        } while take(",")
        return take("}")
    }

    private mutating func array() -> Bool {
        blanks()
        if take("]") { return true }
        repeat {
            blanks()
            guard value(nil) else { return false }
            blanks()
        } while take(",")
        return take("]")
    }

    private mutating func digits() -> Int {
        let start = at
        while let c = peek, (0x30...0x39).contains(c) { at += 1 }
        return at - start
    }

    private mutating func number() -> Bool {
        _ = take("-")
        if !take("0") && digits() == 0 { return false }
        if take(".") && digits() == 0 { return false }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            if digits() == 0 { return false }
        }
        return true
    }

    /// Reads a string. Returns its text, which is nil for a lone surrogate, and the place after it. Returns nil if the string is invalid.
    private mutating func string() -> (text: String?, end: Int)? {
        guard take("\"") else { return nil }
        var units: [UInt16] = []
        while let c = peek, c != UInt8(ascii: "\"") {
            guard c >= 0x20 else { return nil }
            at += 1
            if c == UInt8(ascii: "\\") {
                guard let letter = peek else { return nil }
                at += 1
                if letter == UInt8(ascii: "u") {
                    guard at + 4 <= text.count else { return nil }
                    let hex = text[at..<at + 4]
                    guard hex.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit && $0 < 0x80 }) else { return nil }
                    units.append(UInt16(String(decoding: hex, as: UTF8.self), radix: 16)!)
                    at += 4
                } else {
                    let meanings: [Character: UInt16] = [
                        "\"": 0x22, "\\": 0x5c, "/": 0x2f, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9,
                    ]
                    guard let meaning = meanings[Character(UnicodeScalar(letter))] else { return nil }
                    units.append(meaning)
                }
            } else if c < 0x80 {
                units.append(UInt16(c))
            } else {
                at -= 1
                guard let scalar = scalar() else { return nil }
                units += Array(String(Character(scalar)).utf16)
            }
        }
        guard take("\"") else { return nil }
        return (String(validating: units, as: UTF16.self), at)
    }

    private mutating func scalar() -> UnicodeScalar? {
        for length in 2...4 where at + length <= text.count {
            if let found = String(validating: text[at..<at + length], as: UTF8.self), found.unicodeScalars.count == 1 {
                at += length
                return found.unicodeScalars.first
            }
        }
        return nil
    }
}
