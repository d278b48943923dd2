// Addresses of schemas: URIs, with the resolution of relative references of RFC 3986. Pure.

struct Address {
    private var scheme: String?
    private var authority: String?
    private var path = ""
    private var query: String?
    private(set) var fragment: String?

    init(_ text: String) {
        var rest = Substring(text)
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(of: ":"), !rest[..<colon].contains("/"), colon != rest.startIndex {
            scheme = String(rest[..<colon])
            rest = rest[rest.index(after: colon)...]
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        path = String(rest)
    }

    /// The address as it is compared with others.
    var text: String {
        (scheme.map { $0 + ":" } ?? "") + (authority.map { "//" + $0 } ?? "") + path + (query.map { "?" + $0 } ?? "")
            + (fragment.map { "#" + $0 } ?? "")
    }

    var withoutFragment: Address {
        var address = self
        address.fragment = nil
        return address
    }

    /// Returns the address that a reference means in a document with this address.
    func resolving(_ reference: String) -> Address {
        var result = Address(reference)
        if result.scheme != nil {
            result.path = Address.withoutDots(result.path)
            return result
        }
        result.scheme = scheme
        if result.authority != nil { return result }
        result.authority = authority
        if result.path.isEmpty {
            result.path = path
            if result.query == nil { result.query = query }
        } else if result.path.hasPrefix("/") {
            result.path = Address.withoutDots(result.path)
        } else if authority != nil, path.isEmpty {
            result.path = Address.withoutDots("/" + result.path)
        } else {
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            result.path = Address.withoutDots(folder + result.path)
        }
        return result
    }

    private static func withoutDots(_ path: String) -> String {
        guard path.contains(".") else { return path }
        var parts: [Substring] = []
        let all = path.split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in all.enumerated() {
            let isLast = index == all.count - 1
            switch part {
            case ".": if isLast { parts.append("") }
            case "..":
                if parts.count > 1 || parts.first.map({ !$0.isEmpty }) ?? false { parts.removeLast() }
                if isLast { parts.append("") }
            default: parts.append(part)
            }
        }
        return parts.joined(separator: "/")
    }

    /// Returns the text with its percent escapes decoded.
    static func decoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        var i = 0
        while i < bytes.count {
            if bytes[i] == UInt8(ascii: "%"), i + 2 < bytes.count,
                let value = UInt8(String(decoding: bytes[(i + 1)...(i + 2)], as: UTF8.self), radix: 16)
            {
                decoded.append(value)
                i += 3
            } else {
                decoded.append(bytes[i])
                i += 1
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
