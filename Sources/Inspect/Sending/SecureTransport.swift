// HTTPS through libcurl, which is loaded only for this. It verifies certificates and never follows a redirect.

internal import CCurlLoaded
internal import Glibc

final class SecureTransport: Transport {
    private let client: OpaquePointer

    init(_ target: Target, key: String?, authorities: String?, timeout: Int = 60) throws(TransportFault) {
        if let fault = ccurlloaded_load() { throw TransportFault(String(cString: fault), canPass: false) }
        // An empty Expect header stops libcurl from waiting for "100 Continue" before it sends the body.
        var headers: [UnsafeMutablePointer<CChar>?] = (target.headers(key: key) + ["Expect:"]).map { strdup($0) }
        defer { for header in headers { free(header) } }
        headers.append(nil)
        let lines = headers.map { UnsafePointer($0) }
        guard let client = ccurlloaded_make(target.url, lines, authorities, timeout) else {
            throw TransportFault("cannot be asked: not enough memory", canPass: false)
        }
        self.client = client
    }

    deinit { ccurlloaded_free(client) }

    func post(_ body: UnsafeRawBufferPointer) throws(TransportFault) -> Answer {
        var answer = ccurlloaded_answer()
        var canPass: Int32 = 1
        if let words = ccurlloaded_post(client, body.baseAddress, body.count, &answer, &canPass) {
            throw TransportFault("cannot be asked: \(String(cString: words))", canPass: canPass != 0)
        }
        return Answer(
            status: answer.status, body: Array(UnsafeRawBufferPointer(start: answer.body, count: answer.size)),
            retryAfter: answer.retry_after > 0 ? answer.retry_after : nil, location: answer.location.map { String(cString: $0) })
    }
}
