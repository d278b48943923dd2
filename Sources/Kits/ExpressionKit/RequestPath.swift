// The path of a request, which an expression gives for an event. No byte of an event can end the path, change the host, or lead to a folder
// above the one of the URL: what is not allowed in a path is encoded, and the segments `.` and `..` are refused.

internal import PluginKit

struct RequestPath: Hashable {
    /// The encoded path, with `{part}` where the hash of the body stands. Other braces are encoded.
    let text: String

    /// What stands for the hash of the body.
    static let part = "{part}"

    /// The bytes that may stand in a path as they are.
    static let allowed: [Bool] = (0...255).map { byte in
        switch UInt8(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case let byte: "-._~!$&'()*+,;=:@/".utf8.contains(byte)
        }
    }

    /// Encodes the path. Returns nil if the path is none, and then `fault` says why.
    static func read(_ path: [UInt8]) -> Result<RequestPath, RequestPathFault> {
        if path.isEmpty { return .success(RequestPath(text: "")) }
        guard path.first == UInt8(ascii: "/") else { return .failure(RequestPathFault(words: "a path that does not begin with '/'")) }
        let part = Array(RequestPath.part.utf8)
        var encoded: [UInt8] = []
        var at = 0
        while at < path.count {
            if path[at...].starts(with: part) {
                encoded += part
                at += part.count
                continue
            }
            if allowed[Int(path[at])] { encoded.append(path[at]) } else { encoded += Array("%".utf8) + hex(path[at]) }
            at += 1
        }
        guard encoded.count <= BodyRules.longestPath else {
            return .failure(RequestPathFault(words: "a path of more than \(BodyRules.longestPath) bytes"))
        }
        let segments = encoded.split(separator: UInt8(ascii: "/"))
        guard !segments.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else {
            return .failure(RequestPathFault(words: "a path with the segment '.' or '..'"))
        }
        return .success(RequestPath(text: String(decoding: encoded, as: UTF8.self)))
    }

    /// True if the path depends on the body.
    var holdsPart: Bool { parts.count > 1 }

    /// Returns the path of a body with this hash.
    func text(hash: String) -> String { parts.joined(separator: hash) }

    private var parts: [String] {
        var parts: [String] = []
        var rest = text[...]
        while let brace = rest.firstIndex(of: "{") {
            parts.append(String(rest[..<brace]))
            rest = rest[brace...].dropFirst(RequestPath.part.count)
        }
        return parts + [String(rest)]
    }

    static func hex(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}

struct RequestPathFault: Error {
    let words: String
}
