// `switchyard [run]`: runs the router.

import Admission
internal import Configuration
import Control
import Delivery
import Glibc
import Plans
import Platform
import PluginHost
import Router
import Spool

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
        Option(name: "--drain", value: "TIME", about: "how long to deliver what is left after the end of input (default: 30s)"),
    ],
    run: run)

let stateOption = Option(
    name: "--state", value: "DIR", about: "the folder for what is kept: queues on disk, dead letters (default: ~/.local/state/switchyard)")

let configOption = Option(name: "--config", short: "-c", value: "FILE", about: "the configuration (default: routes.json)")

private func run(_ arguments: Arguments) throws -> Int32 {
    // Do this first: later the router itself may have opened a file with this number.
    let acks = try acknowledgements(arguments)
    let workers = try count(arguments, option: "--workers", range: 1...1024) ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let drain = try time(arguments, "--drain") ?? .seconds(30)
    let file = arguments["--config"] ?? Loading.defaultFile
    guard file != "-" else {
        throw UsageFault("the configuration cannot come from standard input, where the events come from; name a file")
    }
    let http = try address(arguments)
    Console.use(try arguments["--log"].map(LogFormat.init(word:)) ?? .text)
    let stats = try arguments["--stats"].map(AccountFormat.init(word:))

    Signals.take()
    let folders = ModuleFolders.standard()
    for warning in folders.warnings { Console.say(warning.description) }
    let started = Clock.system.wall()
    let watch = arguments.has("--watch") ? try watch(file) : nil
    let plan = try Loading.runnable(file, folders, http: http)
    let masks = Masks(plan.hidden)
    let say: @Sendable (String) -> Void = { Console.say(masks.masked($0)) }
    ModuleExits.endAtOnce(ExitCode.configuration, say: say)
    var outlets = try Outlets.make(plan, folders, say: say).map(\.outlet)

    let state = Loading.stateFolder(arguments["--state"])
    var options = RouterOptions(deadLetters: state + "/" + DeadLetterFile.name)
    let storage = try Storage(plan, folder: state, isNamed: Loading.namesStateFolder(arguments["--state"]))
    options.names = storage.names
    options.levels = storage.levels
    options.cipher = storage.cipher
    options.key = storage.key
    options.registry = try storage.openLedger(for: plan, say: say)
    options.held = try storage.held(for: plan)
    options.seen = storage.path.map { $0 + "/message-ids" }
    try storage.open(for: plan, into: &outlets, say: say)
    for line in Storage.leftovers(plan, in: state, isOwn: storage.path != nil)?.lines ?? [] { say(line) }
    options.acks = acks
    options.shutdown = plan.shutdown.deadline
    options.workers = workers
    options.drain = drain
    options.showInput = arguments.has("--show-input")
    options.seed = UInt64.random(in: 0 ... .max)
    if let path = arguments["--rejects"] {
        do throws(SystemFault) {
            options.rejects = try Rejects(path: path)
        } catch {
            throw ConfigurationFailure(lines: ["--rejects: \(printable(path)): \(error)"])
        }
    }

    let router = Router(plan, outlets: outlets, options: options, say: say)
    let listeners = Listeners(plan, router, watchdog: options.watchdog)
    let followers = try Followers(plan, router, folder: storage.path, say: say)
    let reloader = Reloader(file, http: http, folders: folders, router: router, storage: storage, masks: masks, say: say)
    let service = ControlService(
        router: router, listeners: listeners, reloader: reloader, folder: state, started: started,
        consent: options.registry.flatMap { registry in router.withdrawals.map { LedgerService(.running(registry, $0), folder: state) } })
    Signals.serve(
        router,
        ending: { [listeners, followers] in
            listeners.quiesce()
            followers.quiesce()
        }, reload: { reloader.reload() }, say: say)
    ModuleExits.end(router, within: plan.shutdown.deadline, say: say)
    try listeners.start(say: say)
    followers.start()
    watch?.start { reloader.reload() }
    let stateWatch = storage.watch(router, say: say)
    // Do this last: a client that gets an answer may send signals.
    let servers = try ControlServers(plan, service, folder: storage.path, say: say)
    defer { servers.close() }
    stateWatch?.start()
    ServiceManager.notify("READY=1")
    // The folder belongs to this router until the run ends.
    let account = withExtendedLifetime(storage) { router.run() }
    stateWatch?.end()
    ServiceManager.notify("STOPPING=1")
    listeners.stop()
    followers.stop()
    Signals.settle()
    if account.rejected > 0, stats == nil, !account.lostSome {
        Console.say("\(grouped(account.rejected)) of \(grouped(account.received)) lines were not valid events")
    }
    sayWhatWaits(account)
    let used = Set(account.providers.filter(\.isDurable).map(\.name))
    let left = { Storage.leftovers(router.plan, in: state, isOwn: storage.path != nil, except: used)?.spools ?? [] }
    switch stats ?? (account.lostSome || account.stateFault != nil || account.foundDamage ? .text : AccountFormat.none) {
    case .text: Console.note(account.text(left()))
    case .json: Console.note(account.json(left()) + "\n")
    case .none: break
    }
    guard account.balances else {
        Console.say("the account does not balance: this is a fault of the program")
        return ExitCode.internal
    }
    if ExitGuard.hasCaught { return ExitCode.undelivered }
    if !account.isComplete || account.stateFault != nil || account.foundDamage || account.inputFault != nil || account.unkeptRejects > 0 {
        return ExitCode.undelivered
    }
    return account.rejected > 0 && arguments.has("--strict") ? ExitCode.invalidInput : ExitCode.delivered
}

/// Says how many events wait on disk, since exit code 0 includes them. This is the last message before the account.
private func sayWhatWaits(_ account: Account) {
    let waiting = account.providers.reduce(0) { $0 + $1.kept }
    if waiting > 0 { Console.say("\(grouped(waiting)) \(waiting == 1 ? "event waits" : "events wait") on disk for the next run") }
}

/// Returns the descriptor that `--acks` names, or nil without the option. Throws if it is not open for writing.
private func acknowledgements(_ arguments: Arguments) throws -> Int32? {
    guard let number = try count(arguments, option: "--acks", range: 3...1_000_000).map(Int32.init) else { return nil }
    let flags = fcntl(number, F_GETFL)
    let fault = flags < 0 ? "is not open" : flags & O_ACCMODE == O_RDONLY ? "is open for reading only" : nil
    if let fault {
        throw ConfigurationFailure(lines: [
            "--acks: descriptor \(number) \(fault); the caller must open it for writing, as with \(number)>FILE in a shell"
        ])
    }
    return number
}

/// Returns the address that `--http` names, or nil without the option.
private func address(_ arguments: Arguments) throws(UsageFault) -> ListenAddress? {
    guard let text = arguments["--http"] else { return nil }
    guard let address = ListenAddress(text.isEmpty ? "127.0.0.1:8088" : text) else {
        throw UsageFault("--http must be an address such as 127.0.0.1:8088, [::1]:8088 or unix:/run/switchyard.sock, is '\(text)'")
    }
    guard address.isLocal else {
        throw UsageFault("--http: \(text) can be reached over the network, so it needs keys; name it in 'sources'")
    }
    return address
}

private func watch(_ file: String) throws -> FileWatch {
    do throws(SystemFault) {
        return try FileWatch(file)
    } catch {
        // If the folder is missing, reading the file gives a better message.
        if error.code == ENOENT { _ = try Loading.runnable(file, ModuleFolders.standard()) }
        throw StateFailure("--watch: the folder of \(printable(file)) cannot be watched: \(error)")
    }
}

private func time(_ arguments: Arguments, _ option: String) throws(UsageFault) -> Duration? {
    guard let text = arguments[option] else { return nil }
    guard let duration = Duration(configured: text) else {
        throw UsageFault("\(option) must be a time such as 500ms, 30s or 5m, is '\(text)'")
    }
    return duration
}

private func count(_ arguments: Arguments, option: String, range: ClosedRange<Int>) throws(UsageFault) -> Int? {
    guard let text = arguments[option] else { return nil }
    guard let number = Int(text), range.contains(number) else {
        throw UsageFault("\(option) must be a number from \(range.lowerBound) to \(range.upperBound), is '\(text)'")
    }
    return number
}
