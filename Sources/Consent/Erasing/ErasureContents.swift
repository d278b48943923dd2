// How the contents of a job are written before they are encrypted: counts and texts, each with its length. What cannot be read whole is not
// read at all.

internal import Delivery

extension ErasureJob.Contents {
    private static let format: UInt8 = 1

    var bytes: [UInt8] {
        var out = [ErasureJob.Contents.format]
        out.add(count: named.count)
        for one in named {
            out.add(one.member == nil ? 0 : 1)
            out.add(text: one.member ?? "")
            out.add(text: one.id)
        }
        out.add(count: subjects.count)
        for one in subjects {
            out.add(text: one.subject.member)
            out.add(text: one.subject.id)
            switch one.state {
            case .open: out.add(0)
            case .confirmed: out.add(1)
            case .refused(let words):
                out.add(2)
                out.add(text: words)
            }
        }
        out.add(count: state.count)
        return out + state
    }

    init?(_ bytes: [UInt8]) {
        var reader = Reader(rest: bytes[...])
        guard reader.byte() == ErasureJob.Contents.format, let count = reader.count() else { return nil }
        self.init(named: [], subjects: [])
        for _ in 0..<count {
            guard let kind = reader.byte(), kind < 2, let member = reader.text(), let id = reader.text() else { return nil }
            named.append(NamedID(id, member: kind == 0 ? nil : member))
        }
        guard let count = reader.count() else { return nil }
        for _ in 0..<count {
            guard let member = reader.text(), let id = reader.text(), let state = reader.state() else { return nil }
            subjects.append(.init(SubjectID(member: member, id: id), state))
        }
        guard let size = reader.count(), let rest = reader.take(size), reader.rest.isEmpty else { return nil }
        state = Array(rest)
    }
}

private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func take(_ size: Int) -> ArraySlice<UInt8>? {
        guard size <= rest.count else { return nil }
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size)
    }

    mutating func byte() -> UInt8? { rest.popFirst() }

    /// Reads a number of things, of which each takes a byte or more.
    mutating func count() -> Int? {
        guard let four = take(4) else { return nil }
        let count = four.reduce(0) { $0 << 8 | Int($1) }
        return count <= rest.count ? count : nil
    }

    mutating func text() -> String? {
        guard let size = count(), let bytes = take(size) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    mutating func state() -> ErasureJob.Subject.State? {
        switch byte() {
        case 0: .open
        case 1: .confirmed
        case 2: text().map { .refused($0) }
        default: nil
        }
    }
}

extension [UInt8] {
    fileprivate mutating func add(_ byte: UInt8) { append(byte) }

    fileprivate mutating func add(count: Int) {
        precondition(count >= 0 && count <= Int(UInt32.max), "a count does not fit into its four bytes")
        for shift in stride(from: 24, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: count >> shift)) }
    }

    fileprivate mutating func add(text: String) {
        add(count: text.utf8.count)
        self += text.utf8
    }
}
