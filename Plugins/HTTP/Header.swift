// The headers of every request, checked when the instance is made: nothing that could end a line, and nothing that is not the user's to
// set, gets in. No byte of an event ever becomes part of one. Values are taken for secrets.

internal import PluginKit

struct Header: Sendable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// As libcurl takes it; one without a value is written with a semicolon, or else it would be left out.
    var line: String { value.isEmpty ? "\(name);" : "\(name): \(value)" }

    func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }

    /// What these headers would break, and what is to be done instead.
    private static let refused: [String: String] = [
        "content-length": "it is counted for each request", "transfer-encoding": "requests are never chunked",
        "content-encoding": "set 'compression' instead", "connection": "connections are kept by themselves",
        "keep-alive": "connections are kept by themselves", "expect": "requests are sent without asking first",
        "upgrade": "HTTP/2 is used where it is offered", "te": "it concerns the connection alone", "trailer": "requests have no trailer",
        "proxy-connection": "connections are kept by themselves",
        "proxy-authorization": "write it into 'proxy', as http://user:password@host:port",
    ]

    /// The user's headers. The words of a fault name a header but never hold its value.
    static func read(_ settings: Settings) throws(SettingsFault) -> [Header] {
        var headers: [Header] = []
        for name in settings.names {
            let place = "headers." + printable(name)
            guard let value = settings.get(name, as: String.self) else { throw SettingsFault("\(place) must be text") }
            guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
                throw SettingsFault("\(place): the name of a header is made of letters, digits and !#$%&'*+-.^_`|~")
            }
            // As seen by the parser at the other end: these end a line or a text, and those it may strip or refuse.
            guard value.utf8.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7f }) else {
                throw SettingsFault("\(place): the value holds a line break or another control character; one line of text is expected")
            }
            if let why = refused[name.lowercased()] { throw SettingsFault("\(place) cannot be set: \(why)") }
            if headers.contains(where: { $0.isNamed(name) }) {
                throw SettingsFault("\(place) is there twice; upper and lower case are alike")
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
