// A header of every request, checked when the instance is made. A header that could end a line, or that the user may not set, is refused.
// No byte of an event becomes part of a header.

public import PluginKit

public struct Header: Sendable {
    public let name: String
    public let value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The header as libcurl expects it. A header without a value ends in a semicolon, since libcurl would omit it otherwise.
    var line: String {
        assert(value.utf8.allSatisfy { $0 == 0x09 || $0 >= 0x20 && $0 != 0x7f }, "a value would end the line of its header")
        return value.isEmpty ? "\(name);" : "\(name): \(value)"
    }

    public func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }

    /// The headers that the user may not set, each with the reason or the alternative.
    private static let refused: [String: String] = [
        "content-length": "it is computed for each request", "transfer-encoding": "requests are never chunked",
        "content-encoding": "set 'compression' instead", "connection": "connections are kept alive automatically",
        "keep-alive": "connections are kept alive automatically", "expect": "requests are sent without asking first",
        "upgrade": "HTTP/2 is used where it is offered", "te": "it applies only to the connection", "trailer": "requests have no trailer",
        "proxy-connection": "connections are kept alive automatically",
        "proxy-authorization": "write it into 'proxy', as http://user:password@host:port",
    ]

    /// Parses the user's headers. A fault names the header but never contains its value.
    public static func read(_ settings: Settings) throws(SettingsFault) -> [Header] {
        var headers: [Header] = []
        for name in settings.names {
            let place = "headers." + printable(name)
            guard let value = settings.get(name, as: String.self) else { throw SettingsFault("\(place) must be text") }
            guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
                throw SettingsFault("\(place): the name of a header is made of letters, digits and !#$%&'*+-.^_`|~")
            }
            // Some parsers end the line or the text at one of these bytes, and others strip or refuse them.
            guard value.utf8.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7f }) else {
                throw SettingsFault("\(place): the value holds a line break or another control character; one line of text is expected")
            }
            if let why = refused[name.lowercased()] { throw SettingsFault("\(place) cannot be set: \(why)") }
            if headers.contains(where: { $0.isNamed(name) }) {
                throw SettingsFault("\(place) is given twice; upper and lower case are the same")
            }
            headers.append(Header(name, value))
        }
        return headers
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
