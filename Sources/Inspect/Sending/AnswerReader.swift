// Reads the answer to one request out of bytes as they come: HTTP/1.1 with a length, in chunks, or to the connection's end.

struct AnswerReader {
    private enum Body {
        case none
        case length(Int)
        case chunks
        case toEnd
    }

    private var pending: [UInt8] = []
    /// Where in `pending` the next chunk's length begins.
    private var at = 0
    private var answer: Answer?
    private var kind = Body.none
    /// Whether the connection is good for another request.
    private(set) var isKept = true

    private static let mostHead = 64 << 10

    /// The answer, once it is whole.
    mutating func take(_ bytes: ArraySlice<UInt8>) throws(TransportFault) -> Answer? {
        pending += bytes
        guard pending.count <= mostAnswer else { throw AnswerReader.fault("its answer has no end") }
        while answer == nil {
            guard let end = headEnd else {
                guard pending.count <= AnswerReader.mostHead else { throw AnswerReader.fault("the head of its answer has no end") }
                return nil
            }
            let head = String(decoding: pending[..<end], as: UTF8.self)
            pending.removeFirst(end + 4)
            try readHead(head)
        }
        switch kind {
        case .none: return answer
        case .length(let length):
            guard pending.count >= length else { return nil }
            answer?.body = Array(pending[..<length])
            return answer
        case .chunks: return try readChunks() ? answer : nil
        case .toEnd: return nil
        }
    }

    /// The connection has ended: the answer, if that was its end; nil: there was none at all.
    mutating func end() throws(TransportFault) -> Answer? {
        isKept = false
        guard var answer else {
            if pending.isEmpty { return nil }
            throw AnswerReader.fault("it ended the connection in the middle of its answer")
        }
        guard case .toEnd = kind else { throw AnswerReader.fault("it ended the connection in the middle of its answer") }
        answer.body = pending
        return answer
    }

    private static func fault(_ message: String) -> TransportFault { TransportFault(message) }

    private var headEnd: Int? {
        guard pending.count >= 4 else { return nil }
        return (0...pending.count - 4).first {
            pending[$0] == 13 && pending[$0 + 1] == 10 && pending[$0 + 2] == 13 && pending[$0 + 3] == 10
        }
    }

    private mutating func readHead(_ head: String) throws(TransportFault) {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), (100...599).contains(status) else {
            throw TransportFault("what it answers is not HTTP; is this the address of a router?", canPass: false)
        }
        // An interim answer; the answer follows.
        if status < 200 { return }
        var answer = Answer(status: status)
        kind = .toEnd
        if words[0] == "HTTP/1.0" { isKept = false }
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let value = String(parts[1].drop { $0 == " " || $0 == "\t" })
            switch parts[0].lowercased() {
            case "content-length":
                guard let length = Int(value), (0...mostAnswer).contains(length) else {
                    throw AnswerReader.fault("its answer has no length")
                }
                if case .toEnd = kind { kind = .length(length) }
            case "transfer-encoding": kind = .chunks
            case "connection": if value.lowercased() == "close" { isKept = false }
            case "retry-after": answer.retryAfter = Int(value).map { max(0, $0) }
            case "location": answer.location = value
            default: break
            }
        }
        if status == 204 || status == 304 { kind = .none }
        self.answer = answer
    }

    /// Whether the last one has come.
    private mutating func readChunks() throws(TransportFault) -> Bool {
        while let lineEnd = pending[at...].firstIndex(of: 10) {
            let digits = pending[at..<lineEnd].prefix { $0 != UInt8(ascii: ";") && $0 != 13 }
            guard let length = Int(String(decoding: digits, as: UTF8.self), radix: 16), (0...mostAnswer).contains(length) else {
                throw AnswerReader.fault("its answer is broken")
            }
            // Behind each stands an empty line.
            guard pending.count >= lineEnd + 1 + length + 2 else { return false }
            if length == 0 { return true }
            answer?.body += pending[(lineEnd + 1)..<(lineEnd + 1 + length)]
            at = lineEnd + 1 + length + 2
        }
        return false
    }
}
