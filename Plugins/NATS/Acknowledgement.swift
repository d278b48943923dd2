// What an answer to a message says: the stream has it, or why not. It promises that only an answer which names a stream and a sequence
// counts as an acknowledgement. Anything else that is not an error of JetStream is unknown: somebody who is no stream has answered.

internal import PluginKit

enum Acknowledgement {
    private static let begins = Array(#"{"stream":""#.utf8)
    private static let middle = Array(#""seq":"#.utf8)

    /// Returns the outcome of the event that was answered so.
    static func outcome(_ data: UnsafeRawBufferPointer, isNobody: Bool) -> Outcome {
        if isNobody { return .retry(code: 503, "no stream takes the subject, or JetStream is not ready; create a stream that takes it") }
        return isPlain(data) ? .delivered : judged(data)
    }

    /// True for the answer that servers send for every stored message: {"stream":"NAME", "seq":12}.
    private static func isPlain(_ data: UnsafeRawBufferPointer) -> Bool {
        guard data.count < 400, data.starts(with: begins) else { return false }
        var at = begins.count
        let name = at
        while at < data.count, data[at] != UInt8(ascii: "\"") {
            guard data[at] > 0x20, data[at] != UInt8(ascii: "\\"), data[at] < 0x7f else { return false }
            at += 1
        }
        guard at > name else { return false }
        at += 1
        guard at < data.count, data[at] == UInt8(ascii: ",") else { return false }
        at += 1
        if at < data.count, data[at] == UInt8(ascii: " ") { at += 1 }
        guard data[at...].starts(with: middle) else { return false }
        at += middle.count
        guard at < data.count, data[at] >= UInt8(ascii: "1"), data[at] <= UInt8(ascii: "9") else { return false }
        while at < data.count, data[at] >= UInt8(ascii: "0"), data[at] <= UInt8(ascii: "9") { at += 1 }
        return at == data.count - 1 && data[at] == UInt8(ascii: "}")
    }

    private static func judged(_ data: UnsafeRawBufferPointer) -> Outcome {
        guard data.count <= 64 << 10, let answer = try? Settings(json: String(decoding: data, as: UTF8.self)) else {
            return .unknown("the answer is no acknowledgement; something that is no stream listens on the subject")
        }
        if let error = answer.get("error", as: Settings.self) {
            return refusal(
                code: error.get("code") ?? 0, number: error.get("err_code") ?? 0, words: error.get("description") ?? "no description")
        }
        guard let stream: String = answer.get("stream"), !stream.isEmpty, let sequence: Int = answer.get("seq"), sequence > 0 else {
            return .unknown("the answer is no acknowledgement; something that is no stream listens on the subject")
        }
        return .delivered
    }

    /// Returns the outcome for an error of JetStream, which has not stored the message. `number` is its own number of the error.
    static func refusal(code: Int, number: Int, words: String) -> Outcome {
        let words = "JetStream: \(printable(String(words.prefix(200))))"
        switch number {
        // The message or its headers are larger than the stream accepts.
        case 10054, 10097: return .rejected(code: number, words)
        // JetStream is not enabled (for the account), the stream is sealed, or another stream takes the subject.
        case 10039, 10076, 10109, 10060: return .fault(code: number, words)
        default: break
        }
        switch code {
        case 400: return .rejected(code: number, words)
        case 401, 403: return .fault(code: number, words)
        default: return .retry(code: number, words)
        }
    }
}
