// Reads the certificate, the key and the authorities of a listener once, at its start. The key is never printed, and it is refused if other
// users can read it.

internal import Glibc
internal import Plans
internal import Platform

/// The texts of a listener's certificate, its key and the authorities of its clients. Each ends with a zero byte.
struct PEMTexts {
    var certificate: [CChar]
    var key: [CChar]
    var clients: [CChar]?
}

extension HTTPListener {
    static let largestPEM = 1_000_000

    /// Returns nil if the listener has no certificate.
    func credentials() throws(ListenerFault) -> PEMTexts? {
        guard let tls = plan.tls else { return nil }
        let clients: [CChar]? = if let path = tls.clients { try pem(path, isSecret: false) } else { nil }
        return PEMTexts(certificate: try pem(tls.certificate, isSecret: false), key: try pem(tls.key, isSecret: true), clients: clients)
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
}
