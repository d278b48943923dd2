// `switchyard [run]`: runs the router.

internal import Admission
internal import Audit
internal import DeadLetterStore
internal import Delivery
internal import Erasing
internal import Glibc
internal import InspectCommands
internal import Ledger
internal import Plans
internal import Platform
internal import PluginHost
internal import Router
internal import Spool
internal import Startup
internal import Terminal

let runCommand = Command(
    name: "run",
    about: "Routes events by routes.json, from standard input (JSON, one per line) or from the sources in that file.",
    options: [
        configOption,
        Option(
            name: "--http", value: "ADDRESS", isValueOptional: true,
            about: "also take events over HTTP (default: 127.0.0.1:8088); standard input is then read only if 'sources' names it"),
        Option(name: "--workers", value: "N", about: "the number of blocks that are processed at once (default: the number of cores)"),
        Option(name: "--strict", about: "exit with 65 when some input was invalid"),
        Option(name: "--rejects", value: "FILE", about: "keep invalid lines, with the reason, in FILE"),
        Option(name: "--show-input", about: "quote invalid lines in messages; they may be private"),
        Option(name: "--stats", value: "FORMAT", about: "the final account: text, json or none (default: text when something was lost)"),
        Option(name: "--log", value: "FORMAT", about: "how messages are written on standard error: text (default), logfmt or json"),
        stateOption,
        Option(name: "--watch", about: "reload the configuration whenever its file changes"),
        Option(name: "--acks", value: "FD", about: "write to descriptor FD the number of the last input line that is safe, as it grows"),
        Option(name: "--dry", about: "judge standard input and count what would happen; deliver nothing and write nothing"),
        Option(name: "--events", about: "with --dry: show each event with its verdicts, one JSON object a line"),
        Option(name: "--drain", value: "TIME", about: "how long to deliver what is left after the end of input (default: 30s)"),
    ],
    run: run)

private func run(_ arguments: Arguments) throws -> Int32 {
    // Do this first: later the router itself may have opened a file with the number of `--acks`.
    let settings = try RunSettings(arguments)
    if arguments.has("--dry") { return try runDry(arguments, settings) }
    if arguments.has("--events") { throw UsageFault("--events is only for run --dry; tap shows the events of a running router") }
    let descriptors = DescriptorLimit.raise()
    Signals.take()
    let folders = ModuleFolders.standard()
    for warning in folders.warnings { Console.say(warning.description) }
    let started = Clock.system.wall()
    let descriptions = settings.folder + "/" + KnownDescriptions.fileName
    KnownDescriptions.shared.recall(from: descriptions)
    let watch = settings.watchesFile ? try watch(settings.file) : nil
    let plan = try Loading.runnable(settings.file, folders, http: settings.http)
    let masks = Masks(plan.hidden)
    let say: @Sendable (String) -> Void = { Console.say(masks.masked($0)) }
    ModuleExits.endAtOnce(ExitCode.configuration, say: say)
    var outlets = try Outlets.make(plan, folders, say: say).map(\.outlet)
    let sources = try SourceModules.make(plan, folders, say: say)
    let storage = try Storage(plan, folder: settings.folder, isNamed: settings.isFolderNamed, say: say)
    let audit = try storage.path.flatMap { folder in try AuditRun(plan, in: folder, say: say) }
    let options = try makeOptions(of: plan, settings: settings, storage: storage, audit: audit?.log, outlets: &outlets, say: say)
    try audit?.begin(plan, file: settings.file, options.registry, say: say)

    let router = Router(plan, outlets: outlets, options: options, say: say)
    var services = try RunServices(
        router, of: plan, sources: sources, options: options, settings: settings, folders: folders, storage: storage, masks: masks,
        started: started,
        descriptors: descriptors, say: say)
    try services.start(plan, watch: watch, storage: storage, say: say)
    defer { services.close() }
    if storage.path != nil { KnownDescriptions.shared.keep(at: descriptions) }
    // A router that has something to read would use most of it again at once.
    if plan.sources.contains(where: { !$0.isInput }) || !StartMemory.hasInput(STDIN_FILENO) { StartMemory.giveBack() }
    // The folder belongs to this router until the run ends.
    let account = withExtendedLifetime(storage) { router.run() }
    services.stop()
    let isAudited = audit?.close() ?? true
    report(account, settings) { used in
        Storage.leftovers(router.plan, in: settings.folder, isOwn: storage.path != nil, except: used)?.spools ?? []
    }
    let code = exitCode(account, settings)
    return isAudited || code != ExitCode.delivered ? code : ExitCode.undelivered
}

/// Judges standard input, and shows what would happen. SIGINT and SIGTERM end the input.
private func runDry(_ arguments: Arguments, _ settings: RunSettings) throws -> Int32 {
    for option in ["--http", "--rejects", "--acks", "--watch", "--stats"] where arguments.has(option) {
        throw UsageFault("--dry reads standard input and delivers nothing, so it does not take \(option)")
    }
    let stop = try WakeUp()
    Signals.endInput(by: stop)
    let folders = ModuleFolders.standard()
    for warning in folders.warnings { Console.say(warning.description) }
    let plan = try Loading.runnable(settings.file, folders)
    let ledger = try LedgerView.open(plan, in: settings.folder)
    defer { ledger?.close() }
    var dry = DryRun(plan, ledger, showsEvents: arguments.has("--events"))
    return try dry.run(from: 0, stop: stop, clock: .system, isStrict: settings.isStrict)
}

/// Returns the options of the router. Opens what the plan keeps in the state folder, and gives each outlet its queue.
private func makeOptions(
    of plan: Plan, settings: RunSettings, storage: Storage, audit: AuditLog?, outlets: inout [Outlet],
    say: @escaping @Sendable (String) -> Void
) throws -> RouterOptions {
    var options = RouterOptions(deadLetters: settings.folder + "/" + DeadLetterFile.name)
    options.names = storage.names
    options.levels = storage.levels
    options.cipher = storage.cipher
    options.key = storage.key
    options.audit = audit
    options.registry = try storage.openLedger(for: plan, audit: audit, say: say)
    options.held = try storage.held(for: plan)
    options.strays = storage.strays
    if let path = storage.path {
        options.erasures = try ErasureStore.open(plan, in: path, audit: audit, say: say)
        options.storedProviders = { ErasureStore.storedProviders(in: path) }
        do throws(StorageFault) {
            try options.erasures?.remember(plan.receivers.union(options.storedProviders()))
        } catch {
            throw StateFailure(error.description)
        }
    }
    options.seen = storage.path.map { $0 + "/message-ids" }
    try storage.open(for: plan, into: &outlets)
    for line in Storage.leftovers(plan, in: settings.folder, isOwn: storage.path != nil)?.lines ?? [] { say(line) }
    options.acks = settings.acks
    options.shutdown = plan.shutdown.deadline
    options.workers = settings.workers
    options.drain = settings.drain
    options.showInput = settings.showInput
    options.seed = UInt64.random(in: 0 ... .max)
    if let path = settings.rejects {
        do throws(SystemFault) {
            options.rejects = try Rejects(path: path)
        } catch {
            throw ConfigurationFailure(lines: ["--rejects: \(printable(path)): \(error)"])
        }
    }
    return options
}

/// Reports the result of the run. `leftovers` returns the spools for which the run had no provider. It gets the names of the providers that
/// had a queue on disk.
private func report(_ account: Account, _ settings: RunSettings, leftovers: (Set<String>) -> [SpoolSummary]) {
    if account.rejected > 0, settings.stats == nil, !account.lostSome {
        Console.say("\(grouped(account.rejected)) of \(grouped(account.received)) lines were not valid events")
    }
    sayWhatWaits(account)
    func left() -> [SpoolSummary] { leftovers(Set(account.providers.filter(\.isDurable).map(\.name))) }
    switch settings.stats ?? (account.lostSome || account.stateFault != nil || account.foundDamage ? .text : AccountFormat.none) {
    case .text: Console.note(account.text(left()))
    case .json: Console.note(account.json(left()) + "\n")
    case .none: break
    }
}

private func exitCode(_ account: Account, _ settings: RunSettings) -> Int32 {
    guard account.balances else {
        Console.say("the account does not balance: this is a fault of the program")
        return ExitCode.internal
    }
    if ExitGuard.hasCaught { return ExitCode.undelivered }
    if !account.isComplete || account.stateFault != nil || account.foundDamage || account.inputFault != nil || account.unkeptRejects > 0 {
        return ExitCode.undelivered
    }
    return account.rejected > 0 && settings.isStrict ? ExitCode.invalidInput : ExitCode.delivered
}

/// Says how many events wait on disk, since exit code 0 includes them. This is the last message before the account.
private func sayWhatWaits(_ account: Account) {
    let waiting = account.providers.reduce(0) { $0 + $1.kept }
    if waiting > 0 { Console.say("\(grouped(waiting)) \(waiting == 1 ? "event waits" : "events wait") on disk for the next run") }
}

/// Watches the configuration file. The watch begins before the file is read, so that no change is missed.
private func watch(_ file: String) throws -> FileChanges {
    do throws(SystemFault) {
        let changes = try FileChanges(.present, stop: nil, quiet: 200)
        if let fault = changes.note(file) { throw fault }
        return changes
    } catch {
        // If the folder is missing, reading the file gives a better message.
        if error.code == ENOENT { _ = try Loading.runnable(file, ModuleFolders.standard()) }
        throw StateFailure("--watch: the folder of \(printable(file)) cannot be watched: \(error)")
    }
}
