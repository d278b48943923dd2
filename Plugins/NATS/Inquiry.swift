// Asks the servers for `switchyard check --connect`: whether they accept the credentials, whether JetStream is there, and which stream takes
// the subject. It stores nothing.

internal import CNATS
internal import PluginKit
internal import StreamKit

struct Inquiry {
    private let rules: NATSRules
    private let library: NATSLibrary

    init(_ rules: NATSRules, _ library: NATSLibrary) {
        self.rules = rules
        self.library = library
    }

    func result(within milliseconds: Int) -> Probe {
        if let fault = library.load() { return .failed(fault) }
        let start = Clock.system.now()
        let connection: Connection
        do throws(ConnectionFault) {
            connection = try Connection.open(rules.servers, name: "switchyard check", listener: nil)
        } catch {
            return error.isSetting ? .refused(error.words) : .failed(error.words)
        }
        let origin = connection.server.origin
        func ask(_ subject: String, _ body: String) -> (status: cnats_status, answer: Settings?) {
            let left = milliseconds - Int((Clock.system.now() - start).nanoseconds / 1_000_000)
            let (status, text) = connection.request(subject, body, milliseconds: max(1, min(left / 2, 5_000)))
            return (status, try? Settings(json: text))
        }
        let name = rules.stream.map { ".\($0)" } ?? ""
        let (status, answer) =
            rules.stream == nil ? ask("$JS.API.STREAM.NAMES", #"{"subject":"\#(rules.filter)"}"#) : ask("$JS.API.STREAM.INFO\(name)", "")
        switch status {
        case CNATS_OK: break
        case CNATS_NOBODY: return .refused(code: 503, "\(origin) accepts the credentials, but JetStream is not enabled for them")
        case CNATS_TIMEOUT:
            return .reached("\(origin) accepts the credentials; it does not say if a stream takes '\(rules.filter)'")
        default: return .failed("\(origin) was lost")
        }
        guard let answer else { return .failed("\(origin): its answer about streams cannot be read") }
        if let error = answer.get("error", as: Settings.self) {
            let words = printable(String((error.get("description") ?? "no description").prefix(200)))
            return .refused(code: error.get("err_code") ?? 0, "\(origin): JetStream: \(words)")
        }
        if let stream = rules.stream { return .accepted("\(origin) accepts the credentials, and has the stream '\(stream)'") }
        guard let streams: [String] = answer.get("streams"), let first = streams.first else {
            return .refused("\(origin) accepts the credentials, but no stream takes '\(rules.filter)'; create one")
        }
        return .accepted("\(origin) accepts the credentials, and the stream '\(printable(first))' takes '\(rules.filter)'")
    }
}
