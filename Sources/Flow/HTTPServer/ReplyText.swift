// Writes the head of a reply. The date is made once a second.

internal import Events
internal import Glibc

enum ReplyText {
    /// Returns the status with its phrase (RFC 9110).
    static func line(_ status: Int) -> String {
        switch status {
        case 200: "200 OK"
        case 202: "202 Accepted"
        case 204: "204 No Content"
        case 207: "207 Multi-Status"
        case 400: "400 Bad Request"
        case 401: "401 Unauthorized"
        case 403: "403 Forbidden"
        case 404: "404 Not Found"
        case 405: "405 Method Not Allowed"
        case 408: "408 Request Timeout"
        case 413: "413 Content Too Large"
        case 414: "414 URI Too Long"
        case 415: "415 Unsupported Media Type"
        case 417: "417 Expectation Failed"
        case 422: "422 Unprocessable Content"
        case 429: "429 Too Many Requests"
        case 431: "431 Request Header Fields Too Large"
        case 501: "501 Not Implemented"
        case 503: "503 Service Unavailable"
        case 505: "505 HTTP Version Not Supported"
        default: "\(status) Status"
        }
    }

    /// Sent to a connection for which the process has no descriptor.
    static let noDescriptor: [UInt8] = {
        let body = "{\"error\":\"the router has no descriptor left for this connection; send the events again later\"}\n"
        let head = [
            "HTTP/1.1 \(line(503))", "Content-Type: application/json", "Content-Length: \(body.utf8.count)", "Retry-After: 1",
            "Connection: close",
        ]
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    }()
}

/// The value of the header `Date`.
struct DateText {
    private var second = time_t.min
    private var text = ""

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns the text for a time in nanoseconds since 1970.
    mutating func at(_ wall: Int64) -> String {
        var now = time_t(wall / 1_000_000_000)
        if now == second { return text }
        second = now
        var parts = tm()
        gmtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(DateText.days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(DateText.months[Int(parts.tm_mon)])"
        text = "\(day) \(parts.tm_year + 1900) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
        return text
    }
}

extension ByteBuffer {
    /// Appends a header, with the end of the line before it.
    mutating func appendHeader(_ name: String, _ value: String) {
        append("\r\n")
        append(name)
        append(": ")
        append(value)
    }
}
