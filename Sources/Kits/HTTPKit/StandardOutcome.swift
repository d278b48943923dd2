// The outcome of the events of a request by its answer. If it is uncertain whether the server has the events, they are unknown. They are
// delivered only after a whole answer with a 2xx status that began after the server got the whole body.

internal import CCurl
internal import PluginKit

extension ClientRules {
    /// Returns the outcome of the events of a request. The requests may judge a conclusive answer themselves.
    func outcome(of reply: Reply, to index: Int, of requests: any Requests) -> Outcome {
        let target = targets[requests.target(of: index)]
        let standard = standardOutcome(of: reply, from: target)
        let outcome = reply.isConclusive ? requests.outcome(of: reply, to: index, standard: standard) : standard
        // The server may already have events that would be sent again.
        switch outcome {
        case .retry(let code, let words, _) where reply.isSentAgain, .fault(let code, let words) where reply.isSentAgain:
            return .unknown(code: code, words + "; the previous connection ended without an answer")
        default: return outcome
        }
    }

    /// Returns the outcome by the status, on the last connection.
    private func standardOutcome(of reply: Reply, from target: Target) -> Outcome {
        guard reply.status >= 200 else { return outcome(withoutStatus: reply, from: target) }
        let code = reply.status
        let answered = "\(target.address.origin) answered \(code)"
        let remedies = target.remedies
        switch code {
        case 200..<300:
            // This holds even if the rest of the body was sent afterwards: a server that answers before it has read the body discards the
            // rest.
            if reply.isEarly {
                return .unknown(
                    code: code,
                    "\(answered) before it was sent the whole body, so it cannot have taken all of it; "
                        + "the server must read a request before it answers")
            }
            if reply.result == CURLE_OK || reply.isCut { return .delivered }
            return .unknown(code: code, "\(answered), but the connection was lost before the answer was whole")
        // Use only text that is the same each time, so that the router logs it only once.
        case 408, 425, 429, 500..<600: return .retry(code: code, answered, afterMilliseconds: reply.retryAfter)
        // These statuses are about the body.
        case 400, 409, 413, 422: return .rejected(code: code, answered + words(of: reply.body))
        case 300..<400:
            let target = reply.location.flatMap { try? Address($0, setting: "") }.map { " to \($0.origin)" } ?? ""
            return .fault(code: code, "\(answered): a redirect\(target), and none is followed; \(remedies.redirect)")
        case 401, 403: return .fault(code: code, answered + words(of: reply.body) + "; \(remedies.credentials)")
        case 407: return .fault(code: code, "\(answered): the proxy wants a user and password; write them into proxy")
        case 404, 405, 410: return .fault(code: code, answered + words(of: reply.body) + "; \(remedies.notFound)")
        case 400..<500: return .fault(code: code, answered + words(of: reply.body))
        default: return .unknown(code: code, "\(answered), which has no meaning")
        }
    }

    private func outcome(withoutStatus reply: Reply, from target: Target) -> Outcome {
        if reply.proxyStatus >= 300, let proxy = settings.proxy {
            let answered = "the proxy \(proxy.origin) answered \(reply.proxyStatus)"
            return reply.proxyStatus >= 500 || [408, 425, 429].contains(reply.proxyStatus)
                ? .retry(code: reply.proxyStatus, answered) : .fault(code: reply.proxyStatus, "\(answered); correct proxy")
        }
        let origin = target.address.origin
        let words = String(cString: ccurl_easy_strerror(reply.result))
        let detail = reply.detail.isEmpty ? words : secrets.concealed(in: printable(reply.detail))
        let system = reply.systemError == 0 ? words : systemWords(reply.systemError)
        switch reply.result {
        case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR:
            return .fault("a file of tls cannot be used: \(detail)")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED, CURLE_SSL_SHUTDOWN_FAILED,
            CURLE_SSL_INVALIDCERTSTATUS:
            return .retry("no trusted TLS with \(origin): \(detail)")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .retry("cannot reach \(origin): \(detail)")
        case CURLE_COULDNT_CONNECT: return .retry(code: Int(reply.systemError), "cannot reach \(origin): \(system)")
        case CURLE_OPERATION_TIMEDOUT:
            if reply.isSent { return .unknown("\(origin) gave no whole answer within \(settings.totalTimeout) ms") }
            return .retry("\(origin) did not take the request in time")
        default:
            // In the other cases libcurl's message contains numbers that change each time.
            let why = reply.result == CURLE_RECV_ERROR || reply.result == CURLE_SEND_ERROR ? detail : words
            if reply.isSent { return .unknown("the connection to \(origin) was lost before it answered: \(why)") }
            return .retry("the connection to \(origin) was lost before the events were sent: \(why)")
        }
    }

    /// Returns the first line of an answer, after a colon. It is safe to show: it has no control characters and no secrets.
    private func words(of body: [UInt8]) -> String {
        let blank: Set<UInt8> = [0x20, 0x09, 0x0a, 0x0d]
        var line = secrets.concealed(in: Array(body.drop { blank.contains($0) }.prefix { $0 != 0x0a && $0 != 0x0d }))
        if line.count > 300 {
            line.removeLast(line.count - 300)
            // Do not cut inside a character.
            while let last = line.last, last >= 0x80 { line.removeLast() }
            line += Array("...".utf8)
            assert(line.count <= 303, "the message of the server is not cut")
        }
        return line.isEmpty ? "" : ": " + printable(line)
    }
}
