// Compares how libcurl reads a URL with how it was read when the settings were checked. Two readings of one URL are how a request reaches
// a host that nobody has checked.

internal import CCurl
internal import Glibc

extension Address {
    /// True if libcurl finds the same scheme, host, port and query in the URL. The library must have been loaded.
    var isReadAlike: Bool {
        let url = ccurl_url()
        defer { ccurl_url_cleanup(url) }
        guard ccurl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK else { return false }
        func part(_ part: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard ccurl_url_get(url, part, &text, 0) == CURLUE_OK, let text else { return nil }
            defer { ccurl_free(text) }
            return String(cString: text)
        }
        return part(CURLUPART_SCHEME) == (isSecure ? "https" : "http") && part(CURLUPART_HOST).map(isSameHost) ?? false
            && part(CURLUPART_PORT) == port.map { "\($0)" } && (part(CURLUPART_QUERY) ?? "") == query
            && (part(CURLUPART_USER) == nil && part(CURLUPART_PASSWORD) == nil || hasUser)
    }

    /// True if this is the same host. libcurl may write an IPv6 address in its shortest form.
    private func isSameHost(_ other: String) -> Bool {
        func address(_ host: String) -> [UInt8]? {
            var address = in6_addr()
            guard host.hasPrefix("["), inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else { return nil }
            return withUnsafeBytes(of: address) { Array($0) }
        }
        return other == host || address(other).map { $0 == address(host) } ?? false
    }
}
