// `switchyard consent`: what people have consented to, asked and changed by hand, on the ledger of a running router or of none.

import Glibc
import Ledger
import Platform

let consentCommand = Command(
    name: "consent",
    about: "Shows and changes what people consented to, in the ledger of the state folder, beside a running router too.",
    details: """
        consent get ID            what is on record of an id
        consent set ID            puts on record what a person agreed to, in place of what was said before: --level, --grant, --deny
        consent withdraw ID       refuses everything, or --purposes
        consent tie ID ID…        the ids are one person's, and what was said for any of them holds for all
        consent untie ID          the id stands for itself again
        consent export            every id, hashed, with what holds for it, or with --history each decision
        consent import FILE       takes in lines of an export, or of a list with raw ids; - is standard input
        consent receipts [ID]     what withdrawals destroyed, where and when, and what was in a provider's hands then
        consent clock             whether the clock is behind what is on record, so that it does not count; --believe trusts the clock
        consent subject ID        all that the router itself holds of a person, an object a line with its place
        consent stats             how many ids there are, and what was said
        With - the ids are read from standard input, one a line. Ids that stand in the command itself can be seen by everyone who may
        list processes, and are kept by shells.
        A running router carries it out at once, by its own configuration. Without one the command does, by the file that --config names.
        """,
    argument: "ACTION",
    rest: ["ID"],
    repeats: true,
    options: [
        configOption, stateOption,
        Option(name: "--level", value: "LEVEL", about: "the level that was agreed to (set)"),
        Option(name: "--grant", value: "PURPOSES", about: "purposes that were granted, with commas between (set)"),
        Option(name: "--deny", value: "PURPOSES", about: "purposes that were refused, whatever the level (set)"),
        Option(name: "--version", value: "VERSION", about: "of the text that was agreed to (set)"),
        Option(
            name: "--at", value: "TIME",
            about: "when it was said, such as 2026-11-21T10:30:00Z; now when left out (set, and lines of an import that do not say so)"),
        Option(name: "--purposes", value: "PURPOSES", about: "only these, with commas between (withdraw)"),
        Option(name: "--format", value: "FORMAT", about: "ndjson (default) or csv (export, import)"),
        Option(name: "--believe", about: "the clock is right: what is on record as later than now is taken as of now (clock)"),
        Option(name: "--history", about: "every decision, one a line (export)"),
        Option(name: "--json", about: "one JSON object, for machines (all but export and subject)"),
    ],
    run: { arguments in
        let request = try request(arguments)
        let isReading = [.get, .export, .stats, .receipts, .clock, .subject].contains(request.action)
        let input = request.action == .import ? try ConsentInput(arguments.rest[0]) : nil
        let client = try LedgerClient(arguments, makes: !isReading)
        defer { client.close() }
        do {
            switch request.action {
            case .export, .subject: try export(request, client)
            case .import: return try ConsentImporting(request, client, input!).run()
            default: try Console.show(String(decoding: try client.ask(request), as: UTF8.self))
            }
        } catch let refusal as ConsentRefusal {
            Console.say(refusal.words)
            return ExitCode.invalidInput
        }
        return ExitCode.delivered
    })

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
    guard action != .import else {
        guard arguments.rest.count == 1 else { throw UsageFault("consent import takes one FILE, or - for standard input") }
        return LedgerRequest(action, values)
    }
    let request = LedgerRequest(action, ids: arguments.rest == ["-"] ? try idsOfInput() : arguments.rest, values)
    do throws(ConsentRefusal) {
        try request.checkIDs()
    } catch {
        throw UsageFault("\(error.words); see switchyard consent --help")
    }
    return request
}

private func idsOfInput() throws(UsageFault) -> [String] {
    guard case .success(let bytes) = Loading.input("-", most: 1 << 20), let text = String(validating: bytes, as: UTF8.self) else {
        throw UsageFault("the ids on standard input cannot be read: expected UTF-8, one a line")
    }
    return text.split(whereSeparator: \.isNewline).map(String.init)
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
