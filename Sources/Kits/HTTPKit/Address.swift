// A URL, parsed by libcurl's own parser, so that the checked URL is the one that is used. Its path and query may contain secrets, so only
// the origin is shown to people.

internal import CCurl
public import PluginKit

public struct Address: Sendable {
    /// The whole URL of the requests.
    public let text: String
    /// The scheme, the host, and the port if it is not the default of the scheme.
    public let origin: String
    public let isSecure: Bool
    public let hasUser: Bool
    public let hasFragment: Bool
    /// The text after the question mark. It often contains keys.
    public let query: String

    /// Parses a URL. `name` is its setting, for the text of a fault.
    public init(_ text: String, setting name: String) throws(SettingsFault) {
        // libcurl would stop at a zero byte, and the rest would not be checked.
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw SettingsFault("\(name) holds a space or a control character; such bytes are written as %20 and the like")
        }
        let url = curl_url()
        defer { curl_url_cleanup(url) }
        let status = curl_url_set(url, CURLUPART_URL, text, UInt32(CURLU_URLENCODE))
        guard status == CURLUE_OK else {
            if status == CURLUE_BAD_SCHEME || status == CURLUE_UNSUPPORTED_SCHEME { throw Address.schemeFault(name) }
            throw SettingsFault("\(name) is not a URL: \(String(cString: curl_url_strerror(status)))")
        }
        func part(_ part: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(url, part, &text, 0) == CURLUE_OK, let text else { return nil }
            defer { curl_free(text) }
            return String(cString: text)
        }
        let scheme = part(CURLUPART_SCHEME) ?? ""
        guard scheme == "http" || scheme == "https" else { throw Address.schemeFault(name) }
        guard let whole = part(CURLUPART_URL), let host = part(CURLUPART_HOST) else { throw SettingsFault("\(name) names no host") }
        self.text = whole
        isSecure = scheme == "https"
        origin = "\(scheme)://\(printable(host))" + (part(CURLUPART_PORT).map { ":\($0)" } ?? "")
        hasUser = part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil
        hasFragment = part(CURLUPART_FRAGMENT) != nil
        query = part(CURLUPART_QUERY) ?? ""
    }

    private static func schemeFault(_ name: String) -> SettingsFault { SettingsFault("\(name) must begin with https:// or http://") }
}
