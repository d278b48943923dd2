// Events for people: a line with the time, type, name and user, and below it the other members, indented and aligned for 80 columns. It
// shows the text of the event unchanged, except for characters that could control or deceive a terminal, which it escapes.

internal import Glibc
internal import PluginKit

struct Pretty {
    let color: Bool
    private static let width = 80
    /// The deepest level whose members get their own lines. Deeper members are shown in one line.
    private static let deepest = 16
    /// The largest number of bytes of a value. Longer values are cut, and the cut is marked.
    private static let longest = 2_000

    /// Calls `body` with the text of the events. Each element of the `Lines` is the whole text of one event.
    func render(_ batch: borrowing Batch, _ body: (Lines) -> Outcome) -> Outcome {
        var page = Page(color: color)
        var ends: [UInt64] = []
        for index in 0..<batch.count {
            event(batch.lines.text(of: index), arrival: batch.arrivals[index], on: &page)
            ends.append(UInt64(page.bytes.count))
        }
        return page.bytes.withUnsafeBytes { bytes in ends.withUnsafeBufferPointer { body(Lines(bytes: bytes, ends: $0)) } }
    }

    func event(_ text: UnsafeRawBufferPointer, arrival: Int64, on page: inout Page) {
        let json = JSONWalk(text)
        let members = json.members(of: 0..<text.count)
        var shown: Set<Int> = []

        /// Adds a member to the head line. A member that was cut is shown again below, in full.
        func head(_ name: StaticString, columns: Int, _ style: Page.Style, label: String = "") -> Bool {
            guard let index = members.firstIndex(where: { json.equals($0.name, name) }) else { return false }
            var value = members[index].value
            guard !json.isContainer(value), value.count > 2 else { return false }
            if json.isText(value) { value = value.lowerBound + 1..<value.upperBound - 1 }
            let cut = json.cut(value, to: columns)
            if cut == value { shown.insert(index) }
            if !label.isEmpty { page.add(label, .faint) }
            page.add(json, range: cut, style: style)
            page.add(cut == value ? "  " : "…  ")
            return true
        }

        if !head("timestamp", columns: 35, .faint) { page.add(Pretty.time(arrival) + "  ", .faint) }
        _ = head("type", columns: 16, .type)
        _ = head("event", columns: 60, .title)
        if !head("userId", columns: 40, .user, label: "user ") { _ = head("anonymousId", columns: 40, .user, label: "anonymous ") }
        page.endLine()
        object(members.indices.filter { !shown.contains($0) }.map { members[$0] }, of: json, indent: 2, on: &page)
    }

    private func object(_ members: [JSONWalk.Member], of json: JSONWalk, indent: Int, on page: inout Page) {
        let column = min(24, members.map { $0.name.count }.max() ?? 0)
        for member in members {
            page.add(String(repeating: " ", count: indent))
            page.add(json, range: member.name, style: .name)
            let gap = max(0, column - member.name.count) + 2
            value(member.value, of: json, indent: indent, gap: gap, used: indent + member.name.count + gap, on: &page)
        }
    }

    /// Adds a value after its name or dash: on the same line if it fits, otherwise below.
    private func value(_ value: Range<Int>, of json: JSONWalk, indent: Int, gap: Int, used: Int, on page: inout Page) {
        let space = String(repeating: " ", count: gap)
        let members = json.first(of: value) == UInt8(ascii: "{") ? json.members(of: value) : []
        let elements = json.first(of: value) == UInt8(ascii: "[") ? json.elements(of: value) : []
        let fits = used + value.count + elements.count <= Pretty.width
        if indent >= 2 * Pretty.deepest || (members.isEmpty && (elements.isEmpty || fits)) {
            page.add(space)
            inline(value, of: json, on: &page)
            page.endLine()
        } else if !members.isEmpty {
            page.endLine()
            object(members, of: json, indent: indent + 2, on: &page)
        } else {
            page.endLine()
            for element in elements {
                page.add(String(repeating: " ", count: indent + 2) + "-")
                self.value(element, of: json, indent: indent + 2, gap: 1, used: indent + 4, on: &page)
            }
        }
    }

    /// Adds a value on one line, with uniform spaces.
    private func inline(_ value: Range<Int>, of json: JSONWalk, on page: inout Page) {
        let cut = json.cut(value, to: Pretty.longest)
        var position = cut.lowerBound
        while position < cut.upperBound {
            let token = json.token(at: position, within: cut)
            assert(token.lowerBound == position && token.upperBound <= cut.upperBound, "a token is left out, or goes beyond the cut")
            switch json.first(of: token) {
            case UInt8(ascii: "\""): page.add(json, range: token, style: .text)
            case UInt8(ascii: ","): page.add(", ")
            case UInt8(ascii: ":"): page.add(": ")
            case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"): page.add(json, range: token, style: .plain)
            case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): page.add(json, range: token, style: .literal)
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): break
            default: page.add(json, range: token, style: .number)
            }
            position = token.upperBound
        }
        if cut != value { page.add(" … \(value.count - cut.count) bytes more", .faint) }
    }

    /// Returns the arrival time as text, for events without their own time.
    static func time(_ nanoseconds: Int64) -> String {
        let milliseconds = Int((nanoseconds / 1_000_000) % 1000)
        var seconds = time_t(nanoseconds / 1_000_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func digits(_ value: Int, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        let day = "\(digits(Int(parts.tm_year) + 1900, 4))-\(digits(Int(parts.tm_mon) + 1, 2))-\(digits(Int(parts.tm_mday), 2))"
        let time = "\(digits(Int(parts.tm_hour), 2)):\(digits(Int(parts.tm_min), 2)):\(digits(Int(parts.tm_sec), 2))"
        return "\(day)T\(time).\(digits(milliseconds, 3))Z"
    }
}
