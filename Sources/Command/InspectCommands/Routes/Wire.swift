// What a module would send for one event, as `explain --to` shows it: for a person in 80 columns, or as JSON. Bodies come from a module, so
// they are laid out only if they are JSON, and control characters are escaped.

internal import Events
internal import Explaining
internal import Platform
internal import PluginHost
internal import Terminal

/// What the module of a provider makes of the event of one route.
enum Wire {
    /// `isCut` is true if there is more than is shown. `assumesArrival` is true if the time of the command is in a request, in place of the
    /// arrival that the event would have.
    case sent([WirePreview.Request], losses: [String], isCut: Bool, assumesArrival: Bool)
    case refused(String)
    /// Nothing of the module says what it would send.
    case unknown(String)

    /// Reads the preview of a batch with this event alone. `later` is the preview of the same event with another arrival.
    init(_ preview: WirePreview, later: WirePreview?, of event: Explanation.HandOver) {
        if let reason = preview.refused[0] {
            self = .refused(reason)
        } else {
            let requests = preview.requests.map { request in
                var request = request
                request.body = event.masked(request.body)
                request.url = String(decoding: event.masked(Array(request.url.utf8)), as: UTF8.self)
                return request
            }
            let assumesArrival = later.map { $0.requests != preview.requests } ?? false
            self = .sent(requests, losses: preview.losses[0] ?? [], isCut: preview.isCut, assumesArrival: assumesArrival)
        }
    }

    // MARK: - JSON

    func json(to provider: String) -> String {
        let members: [(String, String)]
        switch self {
        case .sent(let requests, let losses, let isCut, let assumesArrival):
            members =
                [
                    ("requests", Wire.list(requests.map(Wire.json))), ("losses", Wire.list(losses.map(jsonQuoted))),
                    ("assumes_arrival", assumesArrival ? "true" : "false"),
                ] + (isCut ? [("cut", "true")] : [])
        case .refused(let reason): members = [("refused", jsonQuoted(reason))]
        case .unknown(let why): members = [("unknown", jsonQuoted(why))]
        }
        return Wire.object([("provider", jsonQuoted(provider))] + members)
    }

    private static func json(_ request: WirePreview.Request) -> String {
        let body: (String, String) =
            if let text = String(validating: request.body, as: UTF8.self) {
                ("body", jsonQuoted(text))
            } else {
                ("body_hex", jsonQuoted(hex(request.body[...])))
            }
        return object(
            [
                ("method", jsonQuoted(request.method)), ("url", jsonQuoted(request.url)),
                ("headers", list(request.headers.map(jsonQuoted))),
                body,
            ] + (request.isCut ? [("cut", "true")] : []))
    }

    private static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }
    private static func list(_ items: [String]) -> String { "[\(items.joined(separator: ","))]" }

    // MARK: - Text

    /// The lines below the label, each at most `width` wide where they can be broken.
    func lines(width: Int) -> [String] {
        switch self {
        case .refused(let reason): return ["refused: \(reason)"]
        case .unknown(let why): return [why]
        case .sent(let requests, let losses, let isCut, let assumesArrival):
            var lines: [String] = []
            for (index, request) in requests.enumerated() {
                if index > 0 { lines.append("") }
                lines.append("\(request.method) \(request.url)")
                lines += request.headers
                lines += Wire.lines(ofBody: request.body, width: width)
                if request.isCut { lines.append("(the body is longer)") }
            }
            if isCut { lines.append("(there is more than is shown)") } else if requests.isEmpty { lines.append("nothing is sent") }
            if assumesArrival { lines.append("note: the time of this command stands for the arrival, which the event would bring along") }
            return lines + losses.map { "loses: \($0)" }
        }
    }

    /// A body that is JSON, or lines that are, is laid out.
    private static func lines(ofBody body: [UInt8], width: Int) -> [String] {
        guard let text = String(validating: body, as: UTF8.self) else {
            let shown = body.prefix(mostHex)
            let rest = body.count > shown.count ? " …" : ""
            return ["(\(body.count) bytes that are no text)"] + pieces(hex(shown), width) + (rest.isEmpty ? [] : [rest])
        }
        return text.split(separator: "\n").flatMap { line in
            isJSON(Array(line.utf8)) ? JSONLayout.lines(String(line), width: width) : [printable(line.utf8)]
        }
    }

    private static let mostHex = 512

    private static func hex(_ bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    private static func pieces(_ text: String, _ width: Int) -> [String] {
        var rest = Substring(text)
        var pieces: [String] = []
        while !rest.isEmpty {
            pieces.append(String(rest.prefix(width)))
            rest = rest.dropFirst(width)
        }
        return pieces
    }

    /// True for one value of JSON. A secret that was masked may have broken the text.
    private static func isJSON(_ text: [UInt8]) -> Bool {
        var block = Block(capacity: text.count + 8)
        block.text.append("{\"b\":")
        text.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.text.append("}")
        block.seal()
        let trie = PathTrie([Path(keys: ["b"])])
        var scanner = Scanner(trie, depth: Scanner.deepest)
        guard let scanned = scanner.scan(block.bytes, 0), let slot = trie.slot(of: Path(keys: ["b"])) else { return false }
        // What is more than one value, such as `1,"c":2`, also makes an object here.
        var end = text.count
        while end > 0, text[end - 1] <= 0x20 { end -= 1 }
        return scanned.slots[slot].isPresent && Int(scanned.slots[slot].end) == 5 + end
    }
}
