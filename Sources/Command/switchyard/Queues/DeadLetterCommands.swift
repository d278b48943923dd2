// `switchyard dead-letters` and `switchyard replay`: list the events that were given up, and send them again.

internal import Audit
internal import DeadLetterStore
internal import Document
internal import Expressions
internal import Glibc
internal import Ledger
internal import Plans
internal import Platform
internal import PluginHost
internal import Replaying
internal import Startup
internal import StateFiles
internal import Terminal

private let providerOption = Option(name: "--provider", value: "NAME", about: "only those for this provider")
private let sinceOption = Option(
    name: "--since", value: "TIME", about: "only those given up since: 2h for two hours ago, or a time such as 2026-11-21T10:30:00Z")

let deadLettersCommand = Command(
    name: "dead-letters",
    about: "Counts the events that were given up, by provider and reason, or lists them.",
    details: "If they are encrypted, --config names the configuration that has the key.",
    options: [
        stateOption, configOption, providerOption, sinceOption,
        Option(name: "--json", about: "each letter as a JSON object with the provider's answer, one per line"),
        Option(name: "--events", about: "only the events, one per line"),
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
        try noteAccess(arguments)
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
    about: "Sends dead letters again to their providers, by the current rules and the current consent.",
    details: """
        A letter is removed when its provider has taken it, or when the current rules deny it or filter it out. A letter that fails again
        stays. The ledger is asked about the subjects of a letter when it is judged, and again when it is handed over.
        The sample is not drawn again, and a hashed value is not hashed twice. It works beside a running router, with its own lanes.
        Letters are sent in groups. Each group is removed before the next one is sent, so a replay that is killed repeats at most one group.
        SIGINT or SIGTERM ends it: it sends nothing more, waits for batches in flight for at most shutdown.deadline, and records them. The
        exit code is 69 when letters are left. A second signal does not wait, and a third one ends the process at once.
        """,
    options: [
        stateOption, configOption, providerOption, sinceOption,
        Option(name: "--event", value: "GLOB", about: "only events whose name matches"),
        Option(name: "--where", value: "EXPR", about: "only events for which this CEL expression is true, like `where` in a route"),
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
        guard !glob.isEmpty, glob.utf8.count <= 1000 else { throw UsageFault("--event must be a glob of 1 to 1000 bytes") }
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
        options.timeout = time
    }
    // Take the signals first: modules may start threads, which must leave the signals to the signal thread.
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
    if let pid = StateFolder.owner(of: folder), !options.isDryRun { say("the router with process id \(pid) keeps running") }
    let replay = Replay(plan, file, options: options, say: say)
    if !options.isDryRun {
        Signals.serve(replay, within: plan.shutdown.deadline, say: say)
        // At that moment all deliveries are recorded, except those of one group of letters.
        ModuleExits.endAtOnce(ExitCode.undelivered, say: say)
    }
    if !options.isDryRun {
        let provider = arguments["--provider"]
        try AuditLog.add(plan, in: folder, say: say) { log in [.replayBegins(provider: provider, user: getuid(), at: log.now)] }
    }
    let accounts = try withExtendedLifetime(lock) {
        try replay.run { index in
            try Outlets.make(plan, only: [index], folders, say: say)[index]!.outlet
        }
    }
    Signals.settle()
    file.close()
    if !options.isDryRun {
        try AuditLog.add(plan, in: folder, say: say) { log in
            accounts.map { account in
                let counts = [
                    ("letters", account.letters), ("delivered", account.delivered), ("denied", account.denied),
                    ("filtered", account.filtered), ("failed", account.failed), ("left", account.left),
                ]
                return .replay(account.provider, counts: counts, at: log.now)
            }
        }
    }
    if let fault = options.ledger?.fault { say(fault.description) }
    try Console.show(arguments.has("--json") ? json(accounts) : text(accounts, options.isDryRun))
    let isWhole = file.loss == nil && accounts.allSatisfy { $0.failed == 0 && $0.left == 0 }
    return isWhole ? ExitCode.delivered : ExitCode.undelivered
}

/// Allows one replay at a time on a folder. Two replays would send the same letters.
private final class ReplayLock {
    private let descriptor: Descriptor

    init(_ folder: String) throws {
        let number = open(folder + "/replay.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw StateFailure("\(printable(folder))/replay.lock: \(SystemFault())") }
        descriptor = Descriptor(owning: number)
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw StateFailure("\(printable(folder)): another replay is running") }
    }
}

// MARK: - The audit trail

/// Notes that a person looks at dead letters, if the state folder has an audit trail.
private func noteAccess(_ arguments: Arguments) throws {
    try noteAct(arguments) { log in .access("dead letters", at: log.now, keys: log.keys, user: getuid()) }
}

/// Notes what a person does, if the state folder has an audit trail. Without its configuration nobody may do it.
func noteAct(_ arguments: Arguments, _ entry: (AuditLog) -> AuditEntry) throws {
    let folder = Loading.stateFolder(arguments["--state"])
    guard access(folder + "/" + TrailFiles.name, F_OK) == 0 else { return }
    let plan = try Loading.plan(arguments["--config"] ?? Loading.defaultFile, ModuleFolders.standard())
    guard plan.audit != nil else {
        throw ConfigurationFailure(lines: [
            "\(printable(folder)): has an audit trail, in which this is recorded; name the configuration of the router with --config"
        ])
    }
    try AuditLog.add(plan, in: folder, say: Console.say) { log in [entry(log)] }
}

// MARK: - The choice of letters

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

/// Returns a time such as `2026-11-21` or `2026-11-21T10:30:00Z` in nanoseconds since 1970. Returns nil if the text is not a time.
func moment(_ text: String) -> Int64? {
    let halves = text.split(separator: "T", omittingEmptySubsequences: false)
    func numbers(_ text: Substring, separator: Character, widths: [Int]) -> [Int64]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == widths.count,
            zip(parts, widths).allSatisfy({ $0.count == $1 && $0.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } })
        else { return nil }
        return parts.map { Int64($0)! }
    }
    guard (1...2).contains(halves.count), let date = numbers(halves[0], separator: "-", widths: [4, 2, 2]), (1...12).contains(date[1]),
        (1...31).contains(date[2])
    else { return nil }
    var time: [Int64] = [0, 0, 0]
    if halves.count == 2 {
        guard halves[1].hasSuffix("Z"), let parts = numbers(halves[1].dropLast(), separator: ":", widths: [2, 2, 2]), parts[0] < 24,
            parts[1] < 60,
            parts[2] < 60
        else { return nil }
        time = parts
    }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (Int32(date[0] - 1900), Int32(date[1] - 1), Int32(date[2]))
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (Int32(time[0]), Int32(time[1]), Int32(time[2]))
    let (nanoseconds, isOver) = Int64(timegm(&fields)).multipliedReportingOverflow(by: 1_000_000_000)
    // A time that does not fit becomes the earliest or the latest time.
    return isOver ? (date[0] < 1970 ? .min : .max) : nanoseconds
}

/// Opens the dead letters. Returns nil if there is no file. If `mends` is true, a damaged file is set aside and `say` gets a message;
/// otherwise a damaged file is a failure.
private func letters(
    _ arguments: Arguments, cipher: Cipher?, mends: Bool = false, _ say: @escaping @Sendable (String) -> Void = { _ in }
) throws -> DeadLetterFile? {
    let path = Loading.stateFolder(arguments["--state"]) + "/" + DeadLetterFile.name
    do throws(StorageFault) {
        return try DeadLetterFile(path, makes: false, mends: mends, at: Clock.system.wall(), cipher: cipher, say: say)
    } catch {
        throw StateFailure(error.description)
    }
}

// MARK: - Output

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
