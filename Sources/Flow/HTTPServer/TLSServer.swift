// The certificate, the key and the authorities of a server that speaks TLS.

internal import CTLS
internal import Glibc

public final class TLSServer: @unchecked Sendable {
    public struct Fault: Error, Sendable {
        public let message: String
    }

    let server: ctls_server

    /// The texts are PEM and end with a zero byte. Without authorities of clients, no client is asked for a certificate.
    public init(certificate: [CChar], key: [CChar], clients: [CChar]?) throws(Fault) {
        var why = [CChar](repeating: 0, count: 500)
        let made: ctls_server? =
            if let clients {
                ctls_server_new(certificate, key, clients, &why, why.count)
            } else {
                ctls_server_new(certificate, key, nil, &why, why.count)
            }
        guard let made else { throw Fault(message: why.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }) }
        server = made
    }

    deinit { ctls_server_free(server) }
}
