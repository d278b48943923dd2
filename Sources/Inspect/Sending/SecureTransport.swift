// HTTPS by libcurl, which is loaded only for this. It promises that certificates are verified and that no redirect is followed.

internal import CCurlLoaded
internal import Glibc

final class SecureTransport: Transport {
    private let client: OpaquePointer

    init(_ target: Target, key: String?, authorities: String?, patience: Int = 60) throws(TransportFault) {
        if let fault = ccurlloaded_load() { throw TransportFault(String(cString: fault), canPass: false) }
        // Without a pause for the other side's leave to go on.
        var headers: [UnsafeMutablePointer<CChar>?] = (target.headers(key: key) + ["Expect:"]).map { strdup($0) }
        defer { for header in headers { free(header) } }
        headers.append(nil)
        let lines = headers.map { UnsafePointer($0) }
        guard let client = ccurlloaded_make(target.url, lines, authorities, patience) else {
            throw TransportFault("there is no memory left", canPass: false)
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
