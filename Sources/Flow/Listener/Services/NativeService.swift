// Switchyard's own dialect. POST /v1/events accepts NDJSON, a JSON array or one object. The answer reports the result of each event if the
// client asks for it with `?results=each` or `Prefer: return=representation`. With `?strict=1` nothing is repaired.

public import Dialects
internal import Platform

public struct NativeService: Service {
    /// The largest number of faults that a reply lists if the client did not ask for all results.
    static let mostFaults = 10

    public let name = "native"
    public let endpoints = [Endpoint("/v1/events")]

    private let native: Native
    private let strict: Native

    public init(addsReceivedAt: Bool = false) {
        native = Native(addsReceivedAt: addsReceivedAt)
        strict = Native(addsReceivedAt: addsReceivedAt, isStrict: true)
    }

    public func dialect(of request: Request) throws(Refusal) -> any Dialect {
        switch request.mediaType {
        // The default types of curl and browsers are accepted too, because the content itself shows its format.
        case "application/json", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines",
            "application/x-jsonlines", "", "text/json", "text/plain", "application/octet-stream", "application/x-www-form-urlencoded":
            request.asks("strict", "1") ? strict : native
        default: throw .unknownType("expected application/x-ndjson or application/json as the Content-Type")
        }
    }

    public func answer(_ request: Request, events: Int, faults: [RefusedEvent]) -> Reply {
        assert(zip(faults, faults.dropFirst()).allSatisfy { $0.event < $1.event }, "the refused events are not in order")
        assert(faults.last.map { $0.event < events } ?? true, "an event was refused that the request does not have")
        let status = events > 0 && faults.count == events ? 400 : 200
        var json = "{\"accepted\":\(events - faults.count),\"rejected\":\(faults.count)"
        if request.asks("results", "each") || prefersResults(request) {
            json += ",\"results\":["
            var next = 0
            for event in 0..<events {
                if event > 0 { json += "," }
                if next < faults.count, faults[next].event == event {
                    json += "{\"status\":\"rejected\",\"error\":\(jsonQuoted(faults[next].message))}"
                    next += 1
                } else {
                    json += "{\"status\":\"accepted\"}"
                }
            }
            json += "]"
        } else if !faults.isEmpty {
            let shown = faults.prefix(NativeService.mostFaults).map { "{\"event\":\($0.event),\"error\":\(jsonQuoted($0.message))}" }
            json += ",\"errors\":[\(shown.joined(separator: ","))]"
        }
        return Reply(status: status, json: json + "}\n")
    }

    private func prefersResults(_ request: Request) -> Bool {
        guard let prefer = request.header("prefer") else { return false }
        return prefer.split(separator: ",").contains { preference in
            preference.filter { $0 != " " && $0 != "\t" } == "return=representation"
        }
    }
}
