// The index of a copy of a person's data, in words for a person: what each file holds, who may have more, and what could not be searched. It
// is made from the lines as they pass, and keeps only counts. Texts of the data are shown with their control characters escaped.

internal import Document
internal import Platform
internal import Terminal

struct SubjectIndex {
    private struct Provider {
        var plugin: String?
        var routes: [String] = []
        var waiting = 0
        var letters = 0
        var inFlight = 0
        var erasures: [String] = []
    }

    private let id: String
    private var counts: [ExportFolder.File: Int] = [:]
    private var providers: [String: Provider] = [:]
    /// The providers in the order of the plan.
    private var names: [String] = []
    private var unreadable: [(place: String, batches: Int)] = []
    private var setAside: [String] = []
    private var hasEvidenceKey = false

    init(id: String) { self.id = id }

    /// The number of lines.
    var lines: Int { counts.values.reduce(0, +) }

    /// Counts a line, and returns the file to which it belongs.
    mutating func note(_ line: some Collection<UInt8>) -> ExportFolder.File {
        // What is counted stands before the event of a line, so the event is not read.
        let members = FlatLine(Array(line), until: ["event", "answer"])
        let place = members.text("place") ?? ""
        let file = noted(members, place)
        counts[file, default: 0] += 1
        return file
    }

    private mutating func noted(_ members: FlatLine, _ place: String) -> ExportFolder.File {
        switch place {
        case "ledger": return .consent
        case "receipts": return .withdrawals
        case "held events": return .held
        case "dead letters":
            if let name = members.text("provider") { providers[name, default: Provider()].letters += 1 }
            return .deadLetters
        case "overview":
            hasEvidenceKey = members.raw("evidence_key") == "true"
            setAside = members.list("set_aside")
            return .providers
        case "providers":
            guard let name = members.text("provider") else { return .providers }
            names.append(name)
            providers[name, default: Provider()].plugin = members.text("plugin")
            providers[name]?.routes = members.list("routes")
            providers[name]?.inFlight = Int(members.raw("in_flight_at_withdrawals") ?? "") ?? 0
            providers[name]?.erasures = members.list("erasures")
            return .providers
        default:
            guard let name = ["queue of ", "memory of "].lazy.compactMap({ place.after($0) }).first else { return .other }
            if let batches = members.raw("unreadable_batches").flatMap({ Int($0) }) {
                unreadable.append((place, batches))
            } else {
                providers[name, default: Provider()].waiting += 1
            }
            return .waiting
        }
    }

    // MARK: - As text

    func text(at now: Int64) -> String {
        let files = ExportFolder.File.allCases.filter { counts[$0] != nil }
        return """
            What a Switchyard router holds about a person

            \(columns([("id", printable(id)), ("made", "\(timestamp(now)) by switchyard \(version)")]))
            Each file has one object of JSON on each line, in UTF-8. Its member "place" says where the router keeps it.

            \(columns(files.map { ($0.rawValue, "\(SubjectIndex.counted(counts[$0] ?? 0)): \($0.about)") }))
            \(evidence)

            Who may have more

            The router does not record which events of a person a provider has taken. So each provider to which a route leads may have events
            of the person. Ask there for them, or have them erased: switchyard consent erase.

            \(names.isEmpty ? "  no route leads to a provider\n" : names.map(words(of:)).joined(separator: "\n"))
            What this copy lacks

            \(missing.map { "- \($0)\n" }.joined())
            """
    }

    private var evidence: String {
        hasEvidenceKey
            ? "The evidence of a decision (address, user agent, the text that was shown) is in \(ExportFolder.File.consent.rawValue), if it was kept."
            : "No key is configured for evidence of decisions (consent.evidence), so none is included."
    }

    private func words(of name: String) -> String {
        let provider = providers[name] ?? Provider()
        let gets = provider.routes.isEmpty ? "no route leads to it now" : "routes: \(provider.routes.joined(separator: ", "))"
        var rows = [("module", provider.plugin ?? "not in the configuration any more"), ("gets", gets)]
        let (waiting, letters) = (SubjectIndex.counted(provider.waiting, "event"), SubjectIndex.counted(provider.letters, "event"))
        rows.append(("waiting for it", provider.waiting == 0 ? "no event" : "\(waiting), which it may have taken if one is in flight"))
        rows.append(("given up", provider.letters == 0 ? "no event" : "\(letters); reason and attempts say if it was sent"))
        if provider.inFlight > 0 {
            rows.append(
                ("in flight", "\(SubjectIndex.counted(provider.inFlight, "event")) when consent was withdrawn, so it has probably got them")
            )
        }
        for erasure in provider.erasures { rows.append(("erasure", erasure)) }
        return "  \(name)\n" + columns(rows)
    }

    private var missing: [String] {
        var missing = unreadable.map { "\(SubjectIndex.counted($0.batches, "batch", "batches")) in the \($0.place) cannot be read" }
        missing += setAside.map { "\($0) was set aside as damaged, and may hold events of anybody" }
        return missing + [
            "what providers have, see above", "files of --rejects, the log of the router, backups and copies of its files",
            "ids that are tied to this one are known to the router only by their hashes; ask for each id that you know",
        ]
    }

    private static func counted(_ number: Int, _ one: String = "line", _ many: String? = nil) -> String {
        number == 1 ? "1 \(one)" : "\(grouped(number)) \(many ?? one + "s")"
    }
}

extension ExportFolder.File {
    fileprivate var about: String {
        switch self {
        case .consent: "what is on record about the consent of this id, with each decision"
        case .withdrawals: "the withdrawals, with what was destroyed, and with the erasures at providers"
        case .waiting: "events that wait for a provider or are in flight to it, as it would get them"
        case .held: "events that wait until the person decides, as they came in"
        case .deadLetters: "events that could not be delivered, with the answer of the provider"
        case .providers: "who gets events, and what is known of it"
        case .other: "what this version of the command does not know"
        }
    }
}

extension String {
    fileprivate func after(_ prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}

/// The members of an object on one line, as they are written there, up to a member that is not wanted.
struct FlatLine {
    private var members: [String: String] = [:]

    init(_ line: [UInt8], until last: Set<String>) {
        var lexer = Lexer(line)
        var depth = 0
        var key: String?
        var start: Int?
        while let token = lexer.next() {
            switch token.kind {
            case .open: depth += 1
            case .close: depth -= 1
            case .string where depth == 1 && key == nil: key = String(decoding: line[token.range].dropFirst().dropLast(), as: UTF8.self)
            case .colon where depth == 1 && start == nil:
                if let key, last.contains(key) { return }
                start = token.range.upperBound
            default: break
            }
            if depth == 1 && token.kind == .comma || depth == 0, let name = key, let from = start {
                members[name] = String(decoding: line[from..<token.range.lowerBound], as: UTF8.self)
                (key, start) = (nil, nil)
            }
        }
    }

    /// The value as it is written.
    func raw(_ name: String) -> String? { members[name] }

    /// A text without its quotes. Escapes stay, so it is safe to show.
    func text(_ name: String) -> String? {
        guard let raw = members[name], raw.hasPrefix("\""), raw.utf8.count >= 2 else { return nil }
        return String(raw.dropFirst().dropLast())
    }

    /// The texts of a list without their quotes.
    func list(_ name: String) -> [String] {
        guard let raw = members[name] else { return [] }
        let bytes = Array(raw.utf8)
        var lexer = Lexer(bytes)
        var texts: [String] = []
        while let token = lexer.next() {
            if token.kind == .string { texts.append(String(decoding: bytes[token.range].dropFirst().dropLast(), as: UTF8.self)) }
        }
        return texts
    }
}
