// `switchyard consent`: shows and changes consent records by hand. A running router carries out the request. If no router runs, the command
// opens the ledger itself.

internal import Glibc
internal import Ledger
internal import Plans
internal import Platform
internal import PluginHost
internal import Reporting
internal import Startup
public import Terminal

public let consentCommand = Command(
    name: "consent",
    about: "Shows and changes what people consented to, in the ledger of the state folder. It also works while a router runs.",
    details: """
        consent get ID            shows what is on record for an id
        consent set ID            records what a person agreed to, in place of earlier decisions: --level, --grant, --deny
        consent withdraw ID…      denies everything, or only --purposes; --from FILE reads the ids from a file, one per line
        consent erase ID…         withdraws everything, and asks each provider to erase what it holds; so does withdraw --erase
        consent erasures          lists the erasures that are open or need a person: --all, --ids, --again, --done;
                                  --providers lists who may have got events; --forget removes one
        consent tie ID ID…        records that the ids belong to one person: a decision for one of them applies to all
        consent untie ID          removes the ties of an id
        consent export            lists each id, hashed, with what applies to it; with --history, each decision
        consent import FILE       imports lines of an export, or of a list with raw ids; - is standard input
        consent receipts [ID]     shows what withdrawals destroyed, where and when, and how many events were in flight
        consent clock             shows if the clock is behind the newest record, so that records do not count; --believe trusts the clock
        consent subject ID        prints everything that the router itself holds about a person, one JSON object per line with its place;
                                  --export FOLDER writes it to files that can be handed over, with an index
        consent stats             counts the ids and the decisions
        consent report            says what each route collects and each provider gets, and what is on record: --format text, csv or html
        With -, the ids are read from standard input, one per line. Everyone who can list processes can see ids on the command line,
        and shells keep them in their history.
        A running router carries out the request at once, by its own configuration. Without one, the command does it by the file that
        --config names.
        """,
    argument: "ACTION",
    rest: ["ID"],
    repeats: true,
    options: [
        configOption, stateOption,
        Option(name: "--level", value: "LEVEL", about: "the level that was agreed to (set)"),
        Option(name: "--grant", value: "PURPOSES", about: "the granted purposes, separated by commas (set)"),
        Option(name: "--deny", value: "PURPOSES", about: "the denied purposes, whatever the level (set)"),
        Option(name: "--version", value: "VERSION", about: "the version of the text that was agreed to (set)"),
        Option(
            name: "--at", value: "TIME",
            about: "when it was decided, such as 2026-11-21T10:30:00Z; default: now (set; import, for lines without a time)"),
        Option(name: "--purposes", value: "PURPOSES", about: "withdraw only these purposes, separated by commas (withdraw)"),
        Option(name: "--erase", about: "also ask each provider to erase what it holds of the ids (withdraw)"),
        Option(name: "--from", value: "FILE", about: "read the ids from a file, one per line; - is standard input (withdraw, erase)"),
        Option(name: "--format", value: "FORMAT", about: "ndjson (default) or csv (export, import); text (default), csv or html (report)"),
        Option(name: "--believe", about: "the clock is right: records from the future count as made now (clock)"),
        Option(name: "--all", about: "list the erasures that have ended too (erasures)"),
        Option(name: "--ids", value: "NUMBER", about: "show an erasure with its ids (erasures)"),
        Option(name: "--again", value: "NUMBER", about: "ask again, after an erasure was given up or left to a person (erasures)"),
        Option(name: "--done", value: "NUMBER", about: "a person has erased the ids at the provider (erasures)"),
        Option(name: "--providers", about: "list the providers that may have got events, which an erasure concerns (erasures)"),
        Option(
            name: "--forget", value: "PROVIDER",
            about: "nothing is left at a provider that is not in the configuration any more (erasures)"),
        Option(name: "--export", value: "FOLDER", about: "write to files in a new folder, with an index (subject)"),
        Option(name: "--history", about: "list each decision, one per line (export)"),
        Option(name: "--json", about: "one JSON object, for machines (all but export, subject and report)"),
    ],
    run: { arguments in
        let request = try request(arguments)
        let isReading = [.get, .export, .stats, .receipts, .clock, .subject, .report, .erasures].contains(request.action)
        let input = request.action == .import ? try ConsentInput(arguments.rest[0]) : nil
        if request.action == .report, let report = try reportWithoutLedger(request, arguments) {
            try Console.show(report)
            return ExitCode.delivered
        }
        let client = try LedgerClient(arguments, makes: !isReading)
        defer { client.close() }
        do {
            switch request.action {
            case .subject where arguments["--export"] != nil:
                try SubjectExport.run(
                    request, client, to: arguments["--export"] ?? "", state: Loading.stateFolder(arguments["--state"]))
            case .export, .subject: try export(request, client)
            case .import: return try ConsentImporting(request, client: client, input: input!).run()
            default: try Console.show(String(decoding: try client.ask(request), as: UTF8.self))
            }
        } catch let refusal as ConsentRefusal {
            Console.say(refusal.message)
            return ExitCode.invalidInput
        }
        return ExitCode.delivered
    })

/// Returns the report of a configuration that keeps no ledger. It is nil if one is kept, or if a router answers.
private func reportWithoutLedger(_ request: LedgerRequest, _ arguments: Arguments) throws -> String? {
    if try LedgerClient.answers(Loading.stateFolder(arguments["--state"])) { return nil }
    let plan = try Loading.plan(arguments["--config"] ?? Loading.defaultFile, ModuleFolders.standard())
    guard plan.consent?.ledger == nil else { return nil }
    do throws(ConsentRefusal) {
        return Report.document(plan, nil, now: Clock.system.wall()).written(as: try request.reportFormat)
    } catch {
        throw UsageFault(error.message)
    }
}

private func request(_ arguments: Arguments) throws(UsageFault) -> LedgerRequest {
    let actions = LedgerRequest.Action.allCases.map(\.rawValue)
    let listed = actions.dropLast().joined(separator: ", ") + " or " + actions.last!
    guard let word = arguments.argument else { throw UsageFault("expected \(listed); see switchyard consent --help") }
    guard let action = LedgerRequest.Action(rawValue: word) else {
        let near = nearest(to: word, among: actions).map { ", did you mean \($0)?" } ?? ","
        throw UsageFault("unknown action '\(word)'\(near) expected \(listed); see switchyard consent --help")
    }
    var values: [String: String] = [:]
    for (option, value) in arguments.values where option != configOption.name && option != stateOption.name {
        let member = String(option.dropFirst(2))
        guard action.members.contains(member) else { throw UsageFault("consent \(word) takes no \(option)") }
        values[member] = value
    }
    let list = values.removeValue(forKey: "from")
    values.removeValue(forKey: "export")
    guard action != .import else {
        guard arguments.rest.count == 1 else { throw UsageFault("consent import takes one FILE, or - for standard input") }
        return LedgerRequest(action, values)
    }
    var ids = arguments.rest
    if let list {
        guard ids.isEmpty else { throw UsageFault("consent \(word) takes ids or --from, not both; see switchyard consent --help") }
        ids = try idsOfInput(list)
    } else if ids == ["-"] {
        ids = try idsOfInput("-")
    }
    let request = LedgerRequest(action, ids: ids, values)
    do throws(ConsentRefusal) {
        try request.checkIDs()
    } catch {
        throw UsageFault("\(error.message); see switchyard consent --help")
    }
    return request
}

/// Reads ids from a file, one per line. An id that is there twice counts once.
private func idsOfInput(_ file: String) throws(UsageFault) -> [String] {
    guard case .success(let bytes) = Loading.input(file, most: 64 << 20), let text = String(validating: bytes, as: UTF8.self) else {
        let name = file == "-" ? "standard input" : printable(file)
        throw UsageFault("the ids in \(name) cannot be read: expected UTF-8, one per line")
    }
    var seen: Set<Substring> = []
    return text.split(whereSeparator: \.isNewline).filter { seen.insert($0).inserted }.map(String.init)
}

private func export(_ request: LedgerRequest, _ client: LedgerClient) throws {
    var request = request
    while true {
        let answer = try client.ask(request)
        let head = answer.prefix { $0 != 0x0a }
        let text = Array(answer.dropFirst(head.count + 1))
        try text.withUnsafeBytes { (bytes) throws in try writeAll(1, bytes) }
        if head.isEmpty { return }
        request.values["after"] = String(decoding: head, as: UTF8.self)
    }
}
