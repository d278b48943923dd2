// Lays out JSON for a person: a value that fits on a line stays on one line, and a longer one is broken and indented. Only the spaces
// between tokens change, and control characters of a terminal are escaped. It takes valid JSON of any depth.

internal import Platform

struct JSONLayout {
    private let bytes: [UInt8]
    private let width: Int
    private let isVerbatim: Bool
    /// For each opening bracket, the offset after its closing bracket and its width on one line.
    private var spans: [Int: (end: Int, width: Int)] = [:]
    private var lines: [String] = []
    private var line: [UInt8] = []
    private static let step = 2
    /// The level with the largest indentation. Deeper levels have the same indentation.
    private static let deepest = 24

    /// Returns the lines. `column` is where the first of them begins. If it `isVerbatim`, strings keep every byte, for a file.
    static func lines(_ json: String, width: Int, isFirstAt column: Int = 0, isVerbatim: Bool = false) -> [String] {
        var layout = JSONLayout(Array(json.utf8), width, isVerbatim)
        layout.measure()
        layout.write(column)
        return layout.lines
    }

    private init(_ bytes: [UInt8], _ width: Int, _ isVerbatim: Bool) {
        self.bytes = bytes
        self.isVerbatim = isVerbatim
        self.width = width
    }

    /// Returns the first token at or after an offset, or nil if there is none.
    private func token(_ offset: Int) -> Range<Int>? {
        var start = offset
        while start < bytes.count, bytes[start] <= 0x20 { start += 1 }
        guard start < bytes.count else { return nil }
        var end = start + 1
        switch bytes[start] {
        case UInt8(ascii: "\""):
            while bytes[end] != UInt8(ascii: "\"") { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
            end += 1
        case _ where Self.marks.contains(bytes[start]): break
        default: while end < bytes.count, bytes[end] > 0x20, !Self.marks.contains(bytes[end]) { end += 1 }
        }
        return start..<end
    }

    private static let marks = Array("{}[],:".utf8)

    /// Returns the width of a token in a line, with the space after it.
    private func width(_ token: Range<Int>) -> Int {
        // UTF-8 continuation bytes take no column.
        let columns = bytes[token].reduce(0) { $0 + ($1 & 0xc0 == 0x80 ? 0 : 1) }
        return columns + (bytes[token.lowerBound] == UInt8(ascii: ",") || bytes[token.lowerBound] == UInt8(ascii: ":") ? 1 : 0)
    }

    private mutating func measure() {
        var open: [(start: Int, before: Int)] = []
        var sum = 0
        var at = 0
        while let token = token(at) {
            let byte = bytes[token.lowerBound]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") { open.append((token.lowerBound, sum)) }
            sum += width(token)
            if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]"), let opening = open.popLast() {
                spans[opening.start] = (token.upperBound, sum - opening.before)
            }
            at = token.upperBound
        }
        assert(open.isEmpty && spans.values.allSatisfy { $0.end <= bytes.count }, "the text is not valid JSON")
    }

    private mutating func write(_ column: Int) {
        var depth = 0
        var columns = column
        /// Everything before this offset stays on one line.
        var flatUntil = 0
        var at = 0
        while let token = token(at) {
            let byte = bytes[token.lowerBound]
            at = token.upperBound
            let isFlat = token.lowerBound < flatUntil
            if !isFlat, byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                depth -= 1
                assert(depth >= 0, "a bracket is closed that was not opened")
                breakLine(depth, &columns)
            }
            line += byte == UInt8(ascii: "\"") && !isVerbatim ? Array(printable(bytes[token]).utf8) : Array(bytes[token])
            columns += width(token)
            switch byte {
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                if isFlat || byte == UInt8(ascii: ":") { line.append(0x20) } else { breakLine(depth, &columns) }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard !isFlat, let span = spans[token.lowerBound] else { continue }
                // `columns` and the span both count the opening bracket, which leaves a column for a comma after the value.
                if columns + span.width <= width || span.width == 2 {
                    flatUntil = span.end
                } else {
                    depth += 1
                    breakLine(depth, &columns)
                }
            default: break
            }
        }
        if !line.isEmpty { lines.append(String(decoding: line, as: UTF8.self)) }
    }

    private mutating func breakLine(_ depth: Int, _ columns: inout Int) {
        while line.last == 0x20 { line.removeLast() }
        lines.append(String(decoding: line, as: UTF8.self))
        columns = Self.step * min(depth, Self.deepest)
        line = [UInt8](repeating: 0x20, count: columns)
    }
}
