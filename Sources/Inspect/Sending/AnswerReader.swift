// Reads the answer to one request from bytes as they arrive: HTTP/1.1 with a length, in chunks, or until the connection ends.

struct AnswerReader {
    private enum Body {
        case none
        case length(Int)
        case chunks
        case toEnd
    }

    private var pending: [UInt8] = []
    /// The offset in `pending` of the next chunk's length.
    private var at = 0
    private var answer: Answer?
    private var kind = Body.none
    /// True if the connection can be used for another request.
    private(set) var isKept = true

    private static let mostHead = 64 << 10

    /// Adds bytes. Returns the answer when it is complete, and nil otherwise.
    mutating func take(_ bytes: ArraySlice<UInt8>) throws(TransportFault) -> Answer? {
        pending += bytes
        guard pending.count <= mostAnswer else { throw AnswerReader.fault("sent an answer that is too long") }
        while answer == nil {
            guard let end = headEnd else {
                guard pending.count <= AnswerReader.mostHead else { throw AnswerReader.fault("sent an answer whose head is too long") }
                return nil
            }
            let head = String(decoding: pending[..<end], as: UTF8.self)
            pending.removeFirst(end + 4)
            assert(at == 0, "a head was read after chunks")
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

    /// Call this when the connection has ended. Returns the answer if it ends there, or nil if no byte of an answer came.
    mutating func end() throws(TransportFault) -> Answer? {
        isKept = false
        guard var answer else {
            if pending.isEmpty { return nil }
            throw AnswerReader.fault("closed the connection in the middle of its answer")
        }
        guard case .toEnd = kind else { throw AnswerReader.fault("closed the connection in the middle of its answer") }
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
            throw TransportFault("does not answer in HTTP; is this the address of a router?", canPass: false)
        }
        // This is an interim answer. The final answer follows.
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
                    throw AnswerReader.fault("sent an answer with an invalid length")
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

    /// Reads the chunks that are complete. Returns true if the last one has come.
    private mutating func readChunks() throws(TransportFault) -> Bool {
        while let lineEnd = pending[at...].firstIndex(of: 10) {
            let digits = pending[at..<lineEnd].prefix { $0 != UInt8(ascii: ";") && $0 != 13 }
            guard let length = Int(String(decoding: digits, as: UTF8.self), radix: 16), (0...mostAnswer).contains(length) else {
                throw AnswerReader.fault("sent an answer with an invalid chunk")
            }
            // A line end follows each chunk.
            guard pending.count >= lineEnd + 1 + length + 2 else { return false }
            if length == 0 { return true }
            answer?.body += pending[(lineEnd + 1)..<(lineEnd + 1 + length)]
            at = lineEnd + 1 + length + 2
            assert(at <= pending.count, "a chunk was read before all of it came")
        }
        return false
    }
}
