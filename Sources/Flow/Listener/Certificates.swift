// Reads the certificate, the key and the authorities of a listener once, at its start. The key is never printed, and it is refused if other
// users can read it.

internal import Glibc
internal import Plans
internal import Platform

extension HTTPListener {
    static let largestPEM = 1_000_000

    func credentials() throws(ListenerFault) -> (certificate: [CChar]?, key: [CChar]?, clients: [CChar]?) {
        guard let tls = plan.tls else { return (nil, nil, nil) }
        let clients: [CChar]? = if let path = tls.clients { try pem(path, isSecret: false) } else { nil }
        return (try pem(tls.certificate, isSecret: false), try pem(tls.key, isSecret: true), clients)
    }

    private func pem(_ path: String, isSecret: Bool) throws(ListenerFault) -> [CChar] {
        func fault(_ what: String) -> ListenerFault { ListenerFault("\(name): \(printable(path)) \(what)") }
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw fault("cannot be read: \(SystemFault())") }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        guard fstat(descriptor.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw fault("is not a file") }
        guard status.st_size <= HTTPListener.largestPEM else { throw fault("is too large for a certificate or key") }
        if isSecret, status.st_mode & 0o007 != 0 { throw fault("can be read by every user; remove that permission: chmod o= FILE") }
        var text = [CChar](repeating: 0, count: Int(status.st_size) + 1)
        let count = text.withUnsafeMutableBytes { Glibc.read(descriptor.number, $0.baseAddress, Int(status.st_size)) }
        guard count == Int(status.st_size) else { throw fault("cannot be read") }
        return text
    }

    func withPEM<R>(
        _ certificate: [CChar]?, key: [CChar]?, clients: [CChar]?,
        body: (UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> R
    ) -> R {
        func pointer(_ text: [CChar]?, _ use: (UnsafePointer<CChar>?) -> R) -> R {
            text?.withUnsafeBufferPointer { use($0.baseAddress) } ?? use(nil)
        }
        return pointer(certificate) { certificate in
            pointer(key) { key in pointer(clients) { clients in body(certificate, key, clients) } }
        }
    }
}
