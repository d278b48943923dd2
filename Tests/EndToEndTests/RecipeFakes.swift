// Servers that hold the documented rules of vendors: what a request must look like, what is refused and how, and what an answer says. Each
// answers the first request as a busy server of its vendor does. `order_bad` is the event that the vendor does not take.

import Foundation
import HTTPSupport
import TestSupport

final class FakeAPI: @unchecked Sendable {
    struct Answer {
        var status: String
        var body = ""
        var headers = ""
    }

    typealias Rule = @Sendable (Request, String, FakeAPI) -> Answer

    private let lock = NSLock()
    private let rule: Rule
    /// What the vendor holds, by its id.
    var stored: [String: String] = [:]
    private(set) var bodies: [String] = []
    /// The request lines.
    private(set) var lines: [String] = []
    /// What a request had that the vendor forbids.
    private(set) var mistakes: [String] = []

    init(_ rule: @escaping Rule) { self.rule = rule }

    func answer(_ request: Request) -> Answer {
        lock.withLock {
            var bytes = request.body
            if request.headers["content-encoding"] == "gzip" { bytes = Compression.inflated(bytes).0 }
            let text = String(decoding: bytes, as: UTF8.self)
            bodies.append(text)
            lines.append(request.line)
            return rule(request, text, self)
        }
    }

    private var isFirst: Bool { bodies.count == 1 }

    private func demand(_ holds: Bool, _ what: String) { if !holds { mistakes.append(what) } }

    private static func json(_ text: some StringProtocol) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    private static func object(_ text: some StringProtocol) -> [String: Any]? { json(text) as? [String: Any] }

    /// Returns the lines of a body, each of which must be ended by a line break.
    private func ended(_ text: String) -> [Substring] {
        demand(text.hasSuffix("\n"), "the last line has no end")
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }

    // MARK: - The vendors

    static let clickHouse: Rule = { request, text, api in
        api.demand(request.line == "POST /?query=INSERT%20INTO%20events%20FORMAT%20JSONEachRow HTTP/1.1", request.line)
        api.demand(request.headers["x-clickhouse-user"] == "switchyard", "user")
        api.demand(request.headers["x-clickhouse-key"] == "secret-CLICKHOUSE_PASSWORD", "key")
        if api.isFirst {
            return Answer(
                status: "500 Internal Server Error", body: "Code: 252. DB::Exception: Too many parts",
                headers: "X-ClickHouse-Exception-Code: 252\r\n")
        }
        var rows: [String: String] = [:]
        for line in api.ended(text) {
            let row = object(line)
            guard let id = row?["id"] as? String, row?["time"] is Int, let event = row?["event"] as? String, row?["user"] is String,
                let properties = row?["properties"] as? String, object(properties) != nil, event != "order_bad"
            else {
                // A block is taken as a whole or not at all.
                return Answer(
                    status: "400 Bad Request", body: "Code: 27. DB::Exception: Cannot parse input: expected '\"'\nrow 1",
                    headers: "X-ClickHouse-Exception-Code: 27\r\n")
            }
            rows[id] = String(line)
        }
        api.stored.merge(rows) { $1 }
        return Answer(status: "200 OK")
    }

    static let clickHouseWithAnotherQuery: Rule = { request, text, api in
        guard api.isFirst else { return clickHouse(request, text, api) }
        return Answer(
            status: "400 Bad Request", body: "Code: 62. DB::Exception: Syntax error", headers: "X-ClickHouse-Exception-Code: 62\r\n")
    }

    static let elasticsearch: Rule = { request, text, api in
        api.demand(request.line == "POST /_bulk HTTP/1.1", request.line)
        api.demand(request.headers["authorization"] == "ApiKey secret-ELASTIC_KEY", "authorization")
        api.demand(request.headers["content-type"] == "application/x-ndjson", "content type")
        let lines = api.ended(text)
        api.demand(lines.count.isMultiple(of: 2), "an action without a document")
        var items: [String] = []
        for pair in stride(from: 0, to: lines.count - 1, by: 2) {
            let create = object(lines[pair])?["create"] as? [String: Any]
            guard let id = create?["_id"] as? String, create?["_index"] as? String == "events", object(lines[pair + 1]) != nil else {
                return Answer(status: "400 Bad Request", body: #"{"error":{"type":"illegal_argument_exception"},"status":400}"#)
            }
            func item(_ status: Int, _ type: String = "", _ reason: String = "") {
                let error = type.isEmpty ? "" : #","error":{"type":"\#(type)","reason":"\#(reason)"}"#
                items.append(#"{"create":{"_index":"events","_id":"\#(id)","status":\#(status)\#(error)}}"#)
            }
            if api.isFirst, id == "m1" {
                item(429, "es_rejected_execution_exception", "rejected execution")
            } else if api.stored[id] != nil {
                item(409, "version_conflict_engine_exception", "document already exists")
            } else if lines[pair + 1].contains("order_bad") {
                item(400, "mapper_parsing_exception", "failed to parse")
            } else {
                api.stored[id] = String(lines[pair + 1])
                item(201)
            }
        }
        return Answer(status: "200 OK", body: #"{"took":3,"errors":true,"items":[\#(items.joined(separator: ","))]}"#)
    }

    static let loki: Rule = { request, text, api in
        api.demand(request.line == "POST /loki/api/v1/push HTTP/1.1", request.line)
        api.demand(request.headers["content-type"] == "application/json", "content type")
        if api.isFirst { return Answer(status: "429 Too Many Requests", body: "Ingestion rate limit exceeded") }
        var refused = false
        for stream in object(text)?["streams"] as? [[String: Any]] ?? [] {
            api.demand((stream["stream"] as? [String: String])?["job"] == "switchyard", "labels")
            for value in stream["values"] as? [[String]] ?? [] {
                let now = Int64(Date().timeIntervalSince1970 * 1e9)
                api.demand(value.count == 2 && abs(now - (Int64(value[0]) ?? 0)) < 3_600_000_000_000, "the time is not in nanoseconds")
                guard let line = object(value[1]), let id = line["messageId"] as? String else { return Answer(status: "400 Bad Request") }
                // The good lines of a request with a bad one are kept.
                if line["event"] as? String == "order_bad" { refused = true } else { api.stored[id] = value[1] }
            }
        }
        return refused
            ? Answer(status: "400 Bad Request", body: "entry for stream '{job=\"switchyard\"}' has timestamp too old")
            : Answer(status: "204 No Content")
    }

    static let datadog: Rule = { request, text, api in
        api.demand(request.line == "POST /api/v2/logs HTTP/1.1", request.line)
        api.demand(request.headers["dd-api-key"] == "secret-DATADOG_KEY", "key")
        if api.isFirst { return Answer(status: "429 Too Many Requests", body: #"{"errors":[{"status":"429"}]}"#) }
        guard let entries = json(text) as? [[String: String]], entries.count <= 1000, text.utf8.count <= 5_000_000 else {
            api.demand(false, "more than 1000 entries or 5 MB, or no list of objects")
            return Answer(status: "413 Payload Too Large")
        }
        let messages = entries.map { object($0["message"] ?? "") ?? [:] }
        guard !messages.contains(where: { $0["event"] as? String == "order_bad" }) else {
            return Answer(status: "400 Bad Request", body: #"{"errors":[{"status":"400","title":"Bad Request"}]}"#)
        }
        for (entry, message) in zip(entries, messages) { api.stored[message["messageId"] as? String ?? "none"] = entry["message"] }
        return Answer(status: "202 Accepted", body: "{}")
    }

    static let splunk: Rule = { request, text, api in
        api.demand(request.line == "POST /services/collector/event HTTP/1.1", request.line)
        api.demand(request.headers["authorization"] == "Splunk secret-SPLUNK_TOKEN", "authorization")
        if api.isFirst { return Answer(status: "503 Service Unavailable", body: #"{"text":"Server is busy","code":9}"#) }
        var events: [String: String] = [:]
        for (number, line) in api.ended(text).enumerated() {
            guard let entry = object(line), entry["time"] is Double, let event = entry["event"] as? [String: Any],
                let id = event["messageId"] as? String, event["event"] as? String != "order_bad"
            else {
                return Answer(
                    status: "400 Bad Request", body: #"{"text":"Invalid data format","code":6,"invalid-event-number":\#(number)}"#)
            }
            events[id] = String(line)
        }
        api.stored.merge(events) { $1 }
        return Answer(status: "200 OK", body: #"{"text":"Success","code":0}"#)
    }

    static let bigQuery: Rule = { request, text, api in
        api.demand(
            request.line == "POST /bigquery/v2/projects/acme/datasets/telemetry/tables/events/insertAll HTTP/1.1", request.line)
        api.demand(request.headers["authorization"] == "Bearer secret-of-file", "authorization")
        if api.isFirst { return Answer(status: "503 Service Unavailable", body: #"{"error":{"code":503,"status":"UNAVAILABLE"}}"#) }
        let body = object(text)
        let rows = body?["rows"] as? [[String: Any]] ?? []
        api.demand(body?["kind"] as? String == "bigquery#tableDataInsertAllRequest" && !rows.isEmpty && rows.count <= 50_000, "body")
        let ids = rows.map { $0["insertId"] as? String ?? "none" }
        let bad = rows.map { ($0["json"] as? [String: Any])?["event"] as? String == "order_bad" }
        guard bad.contains(true) else {
            for (id, row) in zip(ids, rows) { api.stored[id] = "\(row)" }
            return Answer(status: "200 OK", body: #"{"kind":"bigquery#tableDataInsertAllResponse"}"#)
        }
        // Without skipInvalidRows no row is taken.
        let errors = bad.enumerated().map { index, isBad in
            let error =
                isBad ? #"{"reason":"invalid","location":"value","message":"no such field"}"# : #"{"reason":"stopped","message":""}"#
            return #"{"index":\#(index),"errors":[\#(error)]}"#
        }
        return Answer(status: "200 OK", body: #"{"kind":"x","insertErrors":[\#(errors.joined(separator: ","))]}"#)
    }

    static let store: Rule = { request, text, api in
        let parts = request.line.split(separator: " ")
        let path = parts[1].split(separator: "?", maxSplits: 1)
        api.demand(parts[0] == "PUT" && path.count == 2 && path[1] == "secret-AZURE_SAS", request.line)
        api.demand(request.headers["x-ms-blob-type"] == "BlockBlob", "blob type")
        let folders = path[0].split(separator: "/")
        api.demand(
            folders.count == 4 && folders[..<2] == ["telemetry", "events"] && folders[2].hasPrefix("day=20") && folders[2].count == 14
                && folders[3].count == 39 && folders[3].hasSuffix(".ndjson"), request.line)
        if api.isFirst { return Answer(status: "503 Server Busy", body: "<Error><Code>ServerBusy</Code></Error>") }
        api.stored[String(path[0])] = text
        return Answer(status: "201 Created")
    }

    static let slack: Rule = { request, text, api in
        api.demand(request.line == "POST /services/secret-SLACK_HOOK HTTP/1.1", request.line)
        api.demand(request.headers["content-type"] == "application/json", "content type")
        if api.isFirst { return Answer(status: "429 Too Many Requests") }
        guard let message = object(text)?["text"] as? String else { return Answer(status: "400 Bad Request", body: "no_text") }
        if message.contains("order_bad") { return Answer(status: "400 Bad Request", body: "invalid_payload") }
        api.stored[message] = text
        return Answer(status: "200 OK", body: "ok")
    }

    static let influx: Rule = { request, text, api in
        api.demand(request.line == "POST /api/v2/write?org=acme&bucket=events&precision=ns HTTP/1.1", request.line)
        api.demand(request.headers["authorization"] == "Token secret-INFLUX_TOKEN", "authorization")
        if api.isFirst { return Answer(status: "503 Service Unavailable") }
        var refused = false
        for line in api.ended(text) {
            let point = parts(of: line, at: " ")
            let tags = parts(of: point.first ?? "", at: ",")
            let fields = point.count == 3 ? parts(of: point[1], at: ",") : []
            guard point.count == 3, tags.count == 2, tags[0] == "events", tags[1].hasPrefix("event="), Int64(point[2]) != nil,
                fields.count == 2,
                Double(fields[0].dropFirst("value=".count)) != nil, fields[1].hasPrefix("id=\""), !tags[1].contains("order_bad")
            else {
                // The other points of a request are written.
                refused = true
                continue
            }
            api.stored[String(fields[1].dropFirst(4).dropLast())] = String(line)
        }
        return refused
            ? Answer(status: "400 Bad Request", body: #"{"code":"invalid","message":"partial write: field type conflict dropped=1"}"#)
            : Answer(status: "204 No Content")
    }

    /// Returns the parts between separators that have no backslash before them and are not in quotes.
    private static func parts(of text: some StringProtocol, at separator: Character) -> [String] {
        var parts = [""]
        var isEscaped = false
        var isQuoted = false
        for character in text {
            if character == separator, !isEscaped, !isQuoted {
                parts.append("")
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = character == "\\" && !isEscaped
            parts[parts.count - 1].append(character)
        }
        return parts
    }
}
