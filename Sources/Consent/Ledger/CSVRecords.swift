// Reads CSV by RFC 4180: a quoted cell may hold commas, doubled quotes and line ends, and a record ends in CRLF or LF. It takes bytes in
// pieces of any size and gives whole records, each with the number of its first line.

struct CSVRecords {
    private enum Place { case start, plain, quoted, behindQuote, bad }

    private var place = Place.start
    private var cell: [UInt8] = []
    private var cells: [[UInt8]] = []
    private var line = 1
    private var firstLine = 1
    private var size = 0

    struct Record {
        var line: Int
        var cells: [String]
        /// The reason why the record is invalid. Then it has no cells. It is nil for a valid record.
        var fault: String?
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer, most: Int, _ each: (Record) throws -> Void) rethrows {
        for byte in bytes {
            size += 1
            if size > most, place != .bad { place = .bad }
            if byte == UInt8(ascii: "\n") {
                line += 1
                // In a quoted cell a line end is part of the cell. An invalid record ends at the next line end.
                if place != .quoted {
                    if let record = end() { try each(record) }
                    continue
                }
            }
            step(byte)
        }
    }

    /// Returns the last record if it has no line end.
    mutating func finish() -> Record? {
        if place == .quoted { place = .bad }
        return size == 0 ? nil : end()
    }

    private mutating func step(_ byte: UInt8) {
        switch (place, byte) {
        case (.start, UInt8(ascii: "\"")): place = .quoted
        case (.start, UInt8(ascii: ",")), (.plain, UInt8(ascii: ",")), (.behindQuote, UInt8(ascii: ",")): endCell()
        case (.plain, UInt8(ascii: "\"")): place = .bad
        case (.start, _), (.plain, _):
            place = .plain
            cell.append(byte)
        case (.quoted, UInt8(ascii: "\"")): place = .behindQuote
        case (.quoted, _): cell.append(byte)
        case (.behindQuote, UInt8(ascii: "\"")):
            place = .quoted
            cell.append(byte)
        case (.behindQuote, UInt8(ascii: "\r")): break
        case (.behindQuote, _): place = .bad
        case (.bad, _): break
        }
    }

    /// Names the last line that a missing quote made part of the record.
    private var extent: String { line > firstLine + 1 ? "; everything up to line \(line - 1) is skipped" : "" }

    private mutating func endCell() {
        cells.append(cell)
        cell.removeAll(keepingCapacity: true)
        place = .start
    }

    private mutating func end() -> Record? {
        assert(size > 0, "a record ends that has not begun")
        let isBad = place == .bad
        if place == .plain, cell.last == UInt8(ascii: "\r") { cell.removeLast() }
        let isEmpty = cells.isEmpty && cell.isEmpty && place != .behindQuote && !isBad
        endCell()
        defer {
            cells.removeAll(keepingCapacity: true)
            firstLine = line
            size = 0
        }
        if isEmpty { return nil }
        let texts = cells.compactMap { String(validating: $0, as: UTF8.self) }
        let fault =
            isBad
            ? "has a misplaced or missing quote, or is too long" + extent
            : texts.count == cells.count ? nil : "is not UTF-8"
        return Record(line: firstLine, cells: fault == nil ? texts : [], fault: fault)
    }
}

/// Returns the text as a cell, in quotes if they are needed.
func csvCell(_ text: String) -> String {
    let needsQuotes = text.utf8.contains { $0 == 0x22 || $0 == 0x2c || $0 == 0x0a || $0 == 0x0d }
    guard needsQuotes else { return text }
    return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}

/// Returns a list as one cell: its names separated by `;`, or as JSON if a name could be misread.
func csvList(_ names: [String]) -> String {
    let isPlain = names.allSatisfy { name in
        !name.isEmpty && name.utf8.first != UInt8(ascii: "[") && !name.utf8.contains(UInt8(ascii: ";")) && name.utf8.first != 0x20
            && name.utf8.last != 0x20
    }
    return isPlain ? names.joined(separator: ";") : jsonList(names)
}

enum CSVLine {
    /// Returns the members that the columns of the header name.
    static func columns(_ header: [String]) throws(LineFault) -> [LedgerLine.Member] {
        var columns: [LedgerLine.Member] = []
        for name in header {
            // Spreadsheets put a byte order mark at the beginning.
            let name = name.hasPrefix("\u{feff}") ? String(name.dropFirst()) : name
            guard let member = LedgerLine.Member(rawValue: name == "purposes" ? "granted" : name), !columns.contains(member) else {
                throw LineFault("is not a header: expected column names, each at most once, out of \(LedgerLine.Member.all)")
            }
            columns.append(member)
        }
        return columns
    }

    static func members(_ cells: [String], _ columns: [LedgerLine.Member]) throws(LineFault) -> LineMembers {
        guard cells.count == columns.count else { throw LineFault("has \(cells.count) cells, expected \(columns.count) as in the header") }
        var members = LineMembers()
        for (member, cell) in zip(columns, cells) where !cell.isEmpty {
            switch member {
            case .granted: members.granted = try list(cell, member)
            case .denied: members.denied = try list(cell, member)
            case .withdrawn:
                guard cell == "true" || cell == "false" else { throw LineFault("withdrawn must be true or false") }
                members.isWithdrawn = cell == "true"
            default: members.texts[member] = cell
            }
        }
        return members
    }

    private static func list(_ cell: String, _ member: LedgerLine.Member) throws(LineFault) -> [String] {
        guard cell.utf8.first == UInt8(ascii: "[") else {
            return cell.utf8.split(separator: UInt8(ascii: ";")).map { name in
                String(decoding: name.drop { $0 == 0x20 }.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self)
            }.filter { !$0.isEmpty }
        }
        guard let names = stringList(cell) else { throw LineFault("\(member.rawValue) must be names separated by ;, or a JSON list") }
        return names
    }
}
