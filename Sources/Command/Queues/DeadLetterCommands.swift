// `switchyard dead-letters` and `switchyard replay`: what was given up, and sending it again.

internal import Configuration
internal import Document
import Expressions
import Glibc
import Ledger
import Plans
import Platform
import PluginHost
import Replaying
import Router
import Spool

private let providerOption = Option(name: "--provider", value: "NAME", about: "only those for this provider")
private let sinceOption = Option(
    name: "--since", value: "TIME", about: "only those given up since then: a time such as 2h ago, or 2026-11-21T10:30:00Z")

let deadLettersCommand = Command(
    name: "dead-letters",
    about: "Counts the events that were given up, by provider and reason, or lists them.",
    details: "Where they are encrypted, --config names the configuration that has the key.",
    options: [
        stateOption, configOption, providerOption, sinceOption,
        Option(name: "--json", about: "each letter as a JSON object with the provider's answer, one a line"),
        Option(name: "--events", about: "just the events, one a line"),
    ],
    run: { arguments in
        if arguments.has("--json"), arguments.has("--events") { throw UsageFault("--json and --events cannot both be given") }
        let choice = try choice(arguments)
        guard let file = try letters(arguments, cipher: cipher(arguments)) else {
            if !arguments.has("--json"), !arguments.has("--events") { try Console.show("there are no dead letters\n") }
            return ExitCode.delivered
        }
        guard arguments.has("--json") || arguments.has("--events") else {
            try Console.show(summary(try file.counts(choice)))
            return ExitCode.delivered
        }
        var last: Int64 = 0
        while true {
            let page = try file.letters(choice, after: last)
            guard let next = page.last?.id else { return ExitCode.delivered }
            last = next
            try Console.show(page.map { (arguments.has("--json") ? $0.json : String(decoding: $0.event, as: UTF8.self)) + "\n" }.joined())
        }
    })

let replayCommand = Command(
    name: "replay",
    about: "Sends dead letters again, through the rules and the consent of today, to the providers they were for.",
    details: """
        A letter is removed when its provider has taken it, or when the rules of today deny it or want it nowhere; what fails again stays.
        What is on record of its subjects is asked of the ledger, when it is judged and when it is handed over.
        The sample is not drawn again, and what was hashed is not hashed twice. It works beside a running router, with lanes of its own.
        Letters are sent in groups, and each is removed before the next group is sent: a replay that is killed sends at most one group again.
        SIGINT or SIGTERM ends it: nothing more is sent, what the provider has in its hands is awaited for at most shutdown.deadline and
        recorded, and the exit code is 69 when letters are left. A second signal does not wait, a third ends the process at once.
        """,
    options: [
        stateOption, configOption, providerOption, sinceOption,
        Option(name: "--event", value: "GLOB", about: "only events with such a name"),
        Option(name: "--where", value: "EXPR", about: "only events of which this CEL expression holds, as `where` in a route"),
        Option(name: "--dry-run", about: "judge them, but send and remove nothing"),
        Option(name: "--drain", value: "TIME", about: "how long each group of letters may take (default: 30s)"),
        Option(name: "--json", about: "the account as one JSON object, for machines"),
    ],
    run: replay)

private func replay(_ arguments: Arguments) throws -> Int32 {
    var options = ReplayOptions()
    options.choice = try choice(arguments)
    options.isDryRun = arguments.has("--dry-run")
    options.seed = UInt64.random(in: 0 ... .max)
    if let glob = arguments["--event"] {
        guard !glob.isEmpty, glob.utf8.count <= 1000 else { throw UsageFault("--event must be a glob on the event's name, not empty") }
        options.events = [Glob(glob)]
    }
    if let text = arguments["--where"] {
        do throws(ExpressionFault) {
            options.condition = try Expression.condition(text)
        } catch {
            throw UsageFault("--where, at byte \(error.offset + 1): \(error.message)")
        }
    }
    if let text = arguments["--drain"] {
        guard let time = Duration(configured: text) else {
            throw UsageFault("--drain must be a time such as 500ms, 30s or 5m, is '\(text)'")
        }
        options.patience = time
    }
    // Modules may start threads, which must leave the signals to the one that takes them.
    if !options.isDryRun { Signals.take() }
    let folders = ModuleFolders.standard()
    let plan = try Loading.runnable(arguments["--config"] ?? Loading.defaultFile, folders)
    let hidden = plan.hidden
    let say: @Sendable (String) -> Void = { Console.say(hidden.masked($0)) }
    let folder = Loading.stateFolder(arguments["--state"])
    let cipher = plan.state.encrypt.map { Cipher(plan.keys[$0].secret) }
    guard let file = try letters(arguments, cipher: cipher, mends: !options.isDryRun, say) else {
        say("there are no dead letters in \(printable(folder))")
        return ExitCode.delivered
    }
    options.ledger = try LedgerView.open(plan, in: folder)
    defer { options.ledger?.close() }
    let lock = options.isDryRun ? nil : try ReplayLock(folder)
    if let pid = StateFolder.owner(of: folder), !options.isDryRun { say("the router with process id \(pid) goes on beside this") }
    let replay = Replay(plan, file, options: options, say: say)
    if !options.isDryRun {
        Signals.serve(replay, within: plan.shutdown.deadline, say: say)
        // What was delivered is recorded by then but for one group of letters.
        ModuleExits.endAtOnce(ExitCode.undelivered, say: say)
    }
    let accounts = try withExtendedLifetime(lock) {
        try replay.run { index in
            try Outlets.make(plan, only: [index], folders, say: say)[index]!.outlet
        }
    }
    Signals.settle()
    file.close()
    if let fault = options.ledger?.fault { say(fault.description) }
    try Console.show(arguments.has("--json") ? json(accounts) : text(accounts, options.isDryRun))
    let isWhole = file.loss == nil && accounts.allSatisfy { $0.failed == 0 && $0.left == 0 }
    return isWhole ? ExitCode.delivered : ExitCode.undelivered
}

/// One replay at a time on a folder, or two would send the same letters.
private final class ReplayLock {
    private let descriptor: Descriptor

    init(_ folder: String) throws {
        let number = open(folder + "/replay.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw StateFailure("\(printable(folder))/replay.lock: \(SystemFault())") }
        descriptor = Descriptor(owning: number)
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw StateFailure("\(printable(folder)): another replay is under way") }
    }
}

// MARK: - What is meant

private func choice(_ arguments: Arguments) throws -> DeadLetterFile.Choice {
    var choice = DeadLetterFile.Choice(provider: arguments["--provider"])
    guard let text = arguments["--since"] else { return choice }
    if let ago = Duration(configured: text) {
        choice.since = Clock.system.wall() - ago.nanoseconds
    } else if let time = moment(text) {
        choice.since = time
    } else {
        throw UsageFault("--since must be how long ago, such as 2h, or a moment such as 2026-11-21T10:30:00Z, is '\(text)'")
    }
    return choice
}

/// `2026-11-21`, `2026-11-21T10:30:00Z`, in nanoseconds since 1970.
func moment(_ text: String) -> Int64? {
    let halves = text.split(separator: "T", omittingEmptySubsequences: false)
    func numbers(_ text: Substring, _ separator: Character, _ widths: [Int]) -> [Int64]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == widths.count,
            zip(parts, widths).allSatisfy({ $0.count == $1 && $0.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } })
        else { return nil }
        return parts.map { Int64($0)! }
    }
    guard (1...2).contains(halves.count), let date = numbers(halves[0], "-", [4, 2, 2]), (1...12).contains(date[1]),
        (1...31).contains(date[2])
    else { return nil }
    var time: [Int64] = [0, 0, 0]
    if halves.count == 2 {
        guard halves[1].hasSuffix("Z"), let parts = numbers(halves[1].dropLast(), ":", [2, 2, 2]), parts[0] < 24, parts[1] < 60,
            parts[2] < 60
        else { return nil }
        time = parts
    }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (Int32(date[0] - 1900), Int32(date[1] - 1), Int32(date[2]))
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (Int32(time[0]), Int32(time[1]), Int32(time[2]))
    let (nanoseconds, isOver) = Int64(timegm(&fields)).multipliedReportingOverflow(by: 1_000_000_000)
    // What is further away than can be counted is never, or ever.
    return isOver ? (date[0] < 1970 ? .min : .max) : nanoseconds
}

/// `mends`: a damaged file is set aside, which `say` is told; otherwise it is a failure.
private func letters(
    _ arguments: Arguments, cipher: Cipher?, mends: Bool = false, _ say: @escaping @Sendable (String) -> Void = { _ in }
) throws -> DeadLetterFile? {
    let path = Loading.stateFolder(arguments["--state"]) + "/" + DeadLetterFile.name
    do throws(SpoolFault) {
        return try DeadLetterFile(path, makes: false, mends: mends, at: Clock.system.wall(), cipher: cipher, say: say)
    } catch {
        throw StateFailure(error.description)
    }
}

/// The key of the configuration, where there is one; a configuration that was not named may be missing or wrong.
func cipher(_ arguments: Arguments) throws -> Cipher? {
    let folders = ModuleFolders.standard()
    let plan =
        arguments.has("--config") ? try Loading.plan(arguments["--config"]!, folders) : try? Loading.plan(Loading.defaultFile, folders)
    return plan.flatMap { plan in plan.state.encrypt.map { Cipher(plan.keys[$0].secret) } }
}

// MARK: - In words

private func summary(_ counts: [DeadLetterCount]) -> String {
    if counts.isEmpty { return "there are no dead letters\n" }
    let rows = counts.map { count in
        (
            printable(count.provider),
            "\(grouped(count.count)) \(count.reason), from \(timestamp(count.oldest)) to \(timestamp(count.newest))"
        )
    }
    return columns(rows)
}

private func text(_ accounts: [ReplayAccount], _ isDryRun: Bool) -> String {
    if accounts.isEmpty { return "there are no such dead letters\n" }
    return accounts.map { account in
        var parts = ["\(grouped(account.letters)) letters"]
        if account.delivered > 0 { parts.append("\(grouped(account.delivered)) \(isDryRun ? "would be sent" : "delivered")") }
        if account.denied > 0 { parts.append("\(grouped(account.denied)) denied") }
        if account.filtered > 0 { parts.append("\(grouped(account.filtered)) filtered") }
        if account.failed > 0 { parts.append("\(grouped(account.failed)) failed again and stay") }
        if account.left > 0 { parts.append("\(grouped(account.left)) not tried and stay") }
        return "\(printable(account.provider)): \(parts.joined(separator: ", "))" + (account.fault.map { "; \($0)" } ?? "") + "\n"
    }.joined()
}

private func json(_ accounts: [ReplayAccount]) -> String {
    let parts = accounts.map { account in
        let counts = [
            ("letters", account.letters), ("delivered", account.delivered), ("denied", account.denied), ("filtered", account.filtered),
            ("failed", account.failed), ("left", account.left),
        ]
        return "{\"provider\":\(jsonQuoted(account.provider)),\(counts.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")),"
            + "\"fault\":\(account.fault.map(jsonQuoted) ?? "null")}"
    }
    return "{\"providers\":[\(parts.joined(separator: ","))]}\n"
}
