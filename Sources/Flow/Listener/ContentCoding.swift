// Decodes the content codings of a body within its limits. A decompression bomb uses no more memory than a valid body may.

internal import CDecoders
internal import Events
internal import Plans

enum ContentCoding {
    static let accepted = "gzip, deflate, zstd, br"
    /// The decoded size in bytes that is always allowed, whatever the ratio.
    static let freeBytes = 1_000_000
    private static let step = 64 << 10

    /// Returns the codings of a Content-Encoding header in the order in which they were applied.
    static func parse(_ header: String, most: Int) throws(Refusal) -> [cdecoders_coding] {
        var codings: [cdecoders_coding] = []
        for word in header.split(separator: ",") {
            switch word.filter({ $0 != " " && $0 != "\t" }).lowercased() {
            case "", "identity": continue
            case "gzip", "x-gzip": codings.append(CDECODERS_GZIP)
            case "deflate": codings.append(CDECODERS_DEFLATE)
            case "zstd": codings.append(CDECODERS_ZSTD)
            case "br": codings.append(CDECODERS_BROTLI)
            default: throw .unknownCoding("expected a Content-Encoding among \(accepted)")
            }
            guard codings.count <= most else { throw .unknownCoding("Content-Encoding names more than \(most) codings") }
        }
        return codings
    }

    /// Decodes the body. `grow` is called before more memory is used for the output, and throws to refuse it.
    static func decode(
        _ body: consuming ByteBuffer, _ codings: [cdecoders_coding], limits: HTTPLimits, grow: (Int) throws(Refusal) -> Void
    ) throws(Refusal) -> ByteBuffer {
        let (product, isHuge) = body.count.multipliedReportingOverflow(by: limits.ratio)
        let most = isHuge ? Int.max : max(freeBytes, product)
        var body = body
        for coding in codings.reversed() {
            body = try decode(body, coding, most: min(limits.decoded, most), limits: limits, grow: grow)
        }
        return body
    }

    private static func decode(
        _ body: borrowing ByteBuffer, _ coding: cdecoders_coding, most: Int, limits: HTTPLimits, grow: (Int) throws(Refusal) -> Void
    ) throws(Refusal) -> ByteBuffer {
        if let missing = cdecoders_load(coding) { throw .unknownCoding(String(cString: missing)) }
        guard let stream = cdecoders_open(coding) else { throw .overloaded(retryAfter: 5) }
        defer { cdecoders_close(stream) }
        var decoded = ByteBuffer()
        var input: UnsafePointer<UInt8>? = UnsafePointer(body.base)
        var inputSize = body.count
        while true {
            // One byte beyond the limit proves that the body is too long.
            let room = min(step, most + 1 - decoded.count)
            if decoded.count + room > decoded.capacity {
                try grow(max(decoded.capacity, room))
                decoded.reserve(room)
            }
            var output: UnsafeMutablePointer<UInt8>? = decoded.base + decoded.count
            var outputSize = room
            let before = inputSize
            precondition(room > 0 && room <= decoded.capacity - decoded.count, "the decoder would write after the end of the buffer")
            let state = cdecoders_step(stream, &input, &inputSize, &output, &outputSize)
            assert(inputSize <= before && outputSize <= room, "the decoder read or wrote more than it was given")
            decoded.extend(by: room - outputSize)
            guard decoded.count <= most else {
                throw .tooLarge(
                    most < limits.decoded
                        ? "the body is more than \(limits.ratio) times as long when it is decoded"
                        : "the body has more than \(limits.decoded) bytes when it is decoded")
            }
            if state == CDECODERS_END { return decoded }
            // If neither side made progress, the body was cut off.
            if state == CDECODERS_BROKEN || (inputSize == before && outputSize == room) {
                throw .malformed("the body is not what its Content-Encoding says")
            }
        }
    }
}
