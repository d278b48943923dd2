// Fuzzes the head of a request and the chunks of a body, and compares what the server reads with a slow reading by the letter of RFC 9112. A
// head or a body that arrives in pieces is read as one that arrives at once.

import Seeded

@testable import HTTPServer

/// What is left of some bytes after they were read.
private enum Reading<Value: Equatable>: Equatable {
    case read(Value, end: Int)
    case incomplete
    case refused
}

private func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

private func isToken(_ bytes: [UInt8]) -> Bool {
    let marks = Array("!#$%&'*+-.^_`|~".utf8)
    return !bytes.isEmpty
        && bytes.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || marks.contains($0)
        }
}

private func hasControl(_ bytes: [UInt8]) -> Bool { bytes.contains { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7f } }

private func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    let blanks: [UInt8] = [0x20, 0x09]
    return Array(Array(bytes.drop { blanks.contains($0) }.reversed()).drop { blanks.contains($0) }.reversed())
}

/// Returns the place of a line end from a place on.
private func lineEnd(_ bytes: [UInt8], from start: Int) -> Int? {
    var at = start
    while at + 1 < bytes.count {
        if bytes[at] == 0x0d, bytes[at + 1] == 0x0a { return at }
        at += 1
    }
    return nil
}

struct HTTPHeadFuzzer: Fuzzer {
    private struct Head: Equatable {
        var method = ""
        var target = ""
        var fields: [[String]] = []
        var framing = RequestFraming()
    }

    private static let limits = HeadParser.Limits(bytes: 100_000, fields: 8)
    private static let words = [
        "POST", "GET", " ", " ", "/v1/events", "/", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "\r\n", "\r\n", "\r\n", "\r\n\r\n", "\n", "\r",
        "\u{0}",
        "\t", ":", ": ", "Host: x\r\n", "Host: x\r\n", "Content-Length: 2\r\n", "content-length:7", "Transfer-Encoding: chunked\r\n",
        "chunked",
        "Expect: 100-continue\r\n", "Connection: close\r\n", "connection: Keep-Alive, x\r\n", ",", "#", "@", "2", "+", "A: b\r\n", " c",
        "\u{7f}", "\u{e9}",
    ]
    private static let seeds = [
        "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", "GET / HTTP/1.0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
        "\r\nHEAD /a?b HTTP/1.1\r\nA:\r\nB: \t c d \t\r\nHost:x\r\n\r\n",
    ]

    private var random: Seeded
    private let plants: Bool

    init(seed: UInt64, plants: Bool) { (random, self.plants) = (Seeded(state: seed), plants) }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let input = random.edited(HTTPHeadFuzzer.seeds, HTTPHeadFuzzer.words)
        var right = HTTPHeadFuzzer.byTheLetter(input)
        if plants, input.count % 31 == 30, case .read = right { right = .refused }
        let whole = HTTPHeadFuzzer.byTheServer(input, steps: [input.count])
        let steps = (0..<max(1, input.count)).map { _ in 1 + random.below(9) }
        guard whole == HTTPHeadFuzzer.byTheServer(input, steps: steps) else { return (.unexplained("pieces are read otherwise"), input) }
        switch (right, whole) {
        // Before its end, a head may be refused or not.
        case (.incomplete, .incomplete), (.incomplete, .refused), (.refused, .refused): return (.invalid, input)
        case (.read, .read) where right == whole: return (.valid, input)
        default: return (.unexplained("expected \(right), but the server has \(whole)"), input)
        }
    }

    private static func byTheServer(_ input: [UInt8], steps: [Int]) -> Reading<Head> {
        // The memory has exactly the size of what has arrived, so that the address sanitizer detects a read beyond it.
        var parser = HeadParser(limits)
        var arrived = 0
        for step in steps {
            arrived = min(input.count, arrived + step)
            let result = withBytes(input[..<arrived]) { bytes -> Reading<Head>? in
                do throws(FramingFault) {
                    guard case .complete(let end) = try parser.parse(bytes) else { return nil }
                    func part(_ range: Range<Int>) -> String { text(bytes[range]) }
                    let fields = parser.fields.map { [part($0.name), part($0.value)] }
                    let framing = try RequestFraming(parser, bytes)
                    return .read(Head(method: part(parser.method), target: part(parser.target), fields: fields, framing: framing), end: end)
                } catch { return .refused }
            }
            if let result { return result }
        }
        return .incomplete
    }

    private static func byTheLetter(_ input: [UInt8]) -> Reading<Head> {
        let start = input.starts(with: [0x0d, 0x0a]) ? 2 : 0
        var lines: [[UInt8]] = []
        var at = start
        while let end = lineEnd(input, from: at) {
            let line = Array(input[at..<end])
            at = end + 2
            if line.isEmpty { return judge(lines).map { .read($0, end: at) } ?? .refused }
            lines.append(line)
        }
        return .incomplete
    }

    private static func judge(_ lines: [[UInt8]]) -> Head? {
        guard let first = lines.first, !lines.contains(where: hasControl), lines.count <= 1 + limits.fields else { return nil }
        let parts = first.split(separator: 0x20, omittingEmptySubsequences: false).map { Array($0) }
        guard parts.count == 3, isToken(parts[0]), parts[0].count <= 32, !parts[1].isEmpty,
            parts[1].allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") }),
            ["HTTP/1.0", "HTTP/1.1"].contains(text(parts[2]))
        else { return nil }
        var head = Head(method: text(parts[0]), target: text(parts[1]))
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isToken(Array(line[..<colon])) else { return nil }
            head.fields.append([text(line[..<colon]), text(trimmed(Array(line[(colon + 1)...])))])
        }
        guard let framing = framing(head.fields, isOld: text(parts[2]) == "HTTP/1.0") else { return nil }
        head.framing = framing
        return head
    }

    private static func framing(_ fields: [[String]], isOld: Bool) -> RequestFraming? {
        func values(_ name: String) -> [String] { fields.filter { $0[0].lowercased() == name }.map { $0[1] } }
        let (hosts, lengths, codings, expects) = (values("host"), values("content-length"), values("transfer-encoding"), values("expect"))
        guard hosts.count == 1 || hosts.isEmpty && isOld, lengths.count + codings.count <= 1, expects.count <= 1,
            !hosts.contains(where: { $0.contains { " \t/\\?#@,".contains($0) } })
        else { return nil }
        var framing = RequestFraming()
        if let coding = codings.first {
            guard coding.lowercased() == "chunked", !isOld else { return nil }
            framing.body = .chunked
        }
        if let length = lengths.first {
            guard (1...18).contains(length.utf8.count), length.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            framing.body = .length(Int(length)!)
        }
        let options = values("connection").flatMap {
            $0.utf8.split(separator: UInt8(ascii: ",")).map { text(trimmed(Array($0))).lowercased() }
        }
        framing.keepsAlive = !options.contains("close") && (!isOld || options.contains("keep-alive"))
        framing.expectsContinue = !isOld && framing.body != .length(0) && expects.first?.lowercased() == "100-continue"
        return framing
    }
}

struct HTTPChunksFuzzer: Fuzzer {
    private static let words = [
        "\r\n", "\r\n", "\n", "\r", "0", "1", "2", "a", "F", "{}", ";", ";a=b", ";a=\"b\"", "0\r\n\r\n", "2\r\n{}\r\n", "A: b\r\n", ":",
        " ", "\t", "-", "x",
        "\u{0}", "ffffffffffffffff",
    ]
    private static let seeds = [
        "2\r\n{}\r\n0\r\n\r\n", "00a;x\r\n0123456789\r\n1;y=z\r\n \r\n0\r\nA: b\r\nC:\r\n\r\nPOST", "0\r\n\r\n",
        "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0;e\r\n\r\n",
    ]

    private var random: Seeded
    private let plants: Bool

    init(seed: UInt64, plants: Bool) { (random, self.plants) = (Seeded(state: seed), plants) }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let input = random.edited(HTTPChunksFuzzer.seeds, HTTPChunksFuzzer.words)
        var right = HTTPChunksFuzzer.byTheLetter(input)
        if plants, input.count % 31 == 30, case .read(let body, let end) = right { right = .read(body + [0], end: end) }
        let steps = (0..<max(1, input.count)).map { _ in 1 + random.below(9) }
        for steps in [[input.count], steps] {
            let found = HTTPChunksFuzzer.byTheServer(input, steps: steps)
            if found != right { return (.unexplained("expected \(right), but the server has \(found)"), input) }
        }
        if case .read = right { return (.valid, input) }
        return (.invalid, input)
    }

    private static func byTheServer(_ input: [UInt8], steps: [Int]) -> Reading<[UInt8]> {
        var decoder = ChunkDecoder()
        var body: [UInt8] = []
        var (used, arrived) = (0, 0)
        for step in steps {
            arrived = min(input.count, arrived + step)
            var isAsking = true
            while isAsking {
                let result = withBytes(input[used..<arrived]) { bytes -> Reading<[UInt8]>? in
                    do throws(FramingFault) {
                        var at = 0
                        let step = try decoder.next(bytes, at: &at)
                        used += at
                        switch step {
                        case .piece(let count):
                            body += bytes[at..<at + count]
                            used += count
                        case .incomplete: isAsking = false
                        case .end: return .read(body, end: used)
                        }
                        return nil
                    } catch { return .refused }
                }
                if let result { return result }
            }
        }
        return .incomplete
    }

    private static func byTheLetter(_ input: [UInt8]) -> Reading<[UInt8]> {
        var body: [UInt8] = []
        var at = 0
        /// Returns the next line, or nil if it has not arrived. A bare line feed is part of no line.
        func line() throws(Refused) -> [UInt8]? {
            guard let newline = input[at...].firstIndex(of: 0x0a) else { return nil }
            guard let end = lineEnd(input, from: at), end + 1 == newline else { throw Refused() }
            defer { at = newline + 1 }
            if hasControl(Array(input[at..<end])) { throw Refused() }
            return Array(input[at..<end])
        }
        do throws(Refused) {
            while let size = try line() {
                let digits = size.prefix { $0 != UInt8(ascii: ";") }
                guard !digits.isEmpty, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
                    let count = Int(text(digits), radix: 16),
                    count < 1 << 54
                else { return .refused }
                if count == 0 {
                    while let trailer = try line() {
                        if trailer.isEmpty { return .read(body, end: at) }
                        guard let colon = trailer.firstIndex(of: UInt8(ascii: ":")), isToken(Array(trailer[..<colon])) else {
                            return .refused
                        }
                    }
                    return .incomplete
                }
                body += input[at..<min(input.count, at + count)]
                at = min(input.count, at + count)
                guard let rest = try line() else { return .incomplete }
                if !rest.isEmpty { return .refused }
            }
            return .incomplete
        } catch { return .refused }
    }

    private struct Refused: Error {}
}

/// Calls `body` with a copy of the bytes in memory of exactly their size.
private func withBytes<R>(_ bytes: ArraySlice<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    defer { memory.deallocate() }
    _ = memory.initialize(from: bytes)
    return body(UnsafeBufferPointer(memory))
}

extension Seeded {
    /// Returns one of the seeds with a few words put in, replaced or left out.
    fileprivate mutating func edited(_ seeds: [String], _ words: [String]) -> [UInt8] {
        var bytes = Array(pick(seeds).utf8)
        for _ in 0..<below(4) {
            let at = below(bytes.count + 1)
            let end = min(bytes.count, at + (below(2) == 0 ? 0 : below(12)))
            bytes.replaceSubrange(at..<end, with: below(4) == 0 ? [UInt8(below(256))] : Array(pick(words).utf8))
        }
        return bytes
    }
}
