// The header of HTTP's Basic authentication (RFC 7617). Neither the secret nor its encoded form is ever shown.

internal import Encoding
public import HTTPKit
public import PluginKit

extension Setup {
    /// Returns the header for a user and a password. The user must not hold a colon, which ends it on the wire.
    public mutating func basicAuthorization(user: String, password: String = "") throws(SettingsFault) -> Header {
        guard !user.utf8.contains(UInt8(ascii: ":")) else { throw SettingsFault("the credentials hold a colon where none may be") }
        var encoded: [UInt8] = []
        let credentials = Array("\(user):\(password)".utf8)
        credentials.withUnsafeBufferPointer { Base64.encode($0) { encoded.append($0) } }
        let text = String(decoding: encoded, as: UTF8.self)
        hide(text)
        return Header("Authorization", "Basic \(text)")
    }
}
