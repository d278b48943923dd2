// A request as people may see it: its URL and headers without anything that could be a secret.

public import PluginKit

extension ClientRules {
    /// Returns a request to a target, without secrets. `events` are the indices of the events in its body. A place replaces the method and
    /// the address of the target.
    public func shown(target index: Int, at place: Place? = nil, body: [UInt8], events: [Int]) -> Preview.Request {
        let target = targets[index]
        let address = place.flatMap { try? Address($0.url, setting: "path") } ?? target.address
        return Preview.Request(
            method: (place?.method ?? target.method).rawValue, url: concealed(address.shown), headers: target.headers.map(shown),
            body: secrets.concealed(in: body), events: events)
    }

    private func concealed(_ text: String) -> String { secrets.concealed(in: text) }

    /// Only the values of these headers are no secrets.
    private func shown(_ header: Header) -> String {
        let isPlain = ["Content-Type", "Content-Encoding", "User-Agent", "Accept"].contains { header.isNamed($0) }
        return "\(header.name): \(isPlain ? concealed(header.value) : "***")"
    }
}

extension Address {
    /// The URL without the values of its query. A part of the path with 16 or more characters and a digit counts as a key, as in the
    /// addresses of webhooks.
    var shown: String {
        let whole = text.prefix { $0 != "?" && $0 != "#" }
        let scheme = isSecure ? "https://" : "http://"
        let path = whole.dropFirst(scheme.count).drop { $0 != "/" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { part in
            part.utf8.count >= 16 && part.utf8.contains { $0 &- 0x30 < 10 } ? "***" : String(part)
        }
        let values = query.split(separator: "&").map { part in
            part.contains("=") ? "\(part.prefix { $0 != "=" })=***" : "***"
        }
        return origin + printable(parts.joined(separator: "/")) + (values.isEmpty ? "" : "?" + printable(values.joined(separator: "&")))
    }
}
