// The settings of `switchyard run`, from its command line.

internal import Glibc
internal import Plans
internal import Platform
internal import Startup
internal import Terminal

struct RunSettings {
    /// The descriptor of `--acks`. It is nil without the option.
    let acks: Int32?
    let workers: Int
    let drain: Duration
    /// The configuration.
    let file: String
    /// An additional address to listen at. It is nil without `--http`.
    let http: ListenAddress?
    /// The format of the account. It is nil without `--stats`.
    let stats: AccountFormat?
    let isStrict: Bool
    let showInput: Bool
    let watchesFile: Bool
    /// The path of `--rejects`. It is nil without the option.
    let rejects: String?
    /// The state folder.
    let folder: String
    /// True if the state folder was named, so that it belongs to this router.
    let isFolderNamed: Bool

    /// Reads the command line. All later messages have the format of `--log`.
    init(_ arguments: Arguments) throws {
        acks = try RunSettings.acknowledgements(arguments)
        workers = try arguments.number("--workers", in: 1...1024) ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        drain = try RunSettings.time(arguments, "--drain") ?? .seconds(30)
        file = arguments["--config"] ?? Loading.defaultFile
        guard file != "-" else {
            throw UsageFault("the configuration cannot come from standard input, where the events come from; name a file")
        }
        http = try RunSettings.address(arguments)
        Console.use(try arguments["--log"].map(LogFormat.init(word:)) ?? .text)
        stats = try arguments["--stats"].map(AccountFormat.init(word:))
        isStrict = arguments.has("--strict")
        showInput = arguments.has("--show-input")
        watchesFile = arguments.has("--watch")
        rejects = arguments["--rejects"]
        folder = Loading.stateFolder(arguments["--state"])
        isFolderNamed = Loading.namesStateFolder(arguments["--state"])
        assert(workers > 0 && drain >= .zero, "the command line gives a run without workers, or with a negative time")
    }

    /// Returns the descriptor that `--acks` names, or nil without the option. Throws if it is not open for writing.
    private static func acknowledgements(_ arguments: Arguments) throws -> Int32? {
        guard let number = try arguments.number("--acks", in: 3...1_000_000).map(Int32.init) else { return nil }
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
    private static func address(_ arguments: Arguments) throws(UsageFault) -> ListenAddress? {
        guard let text = arguments["--http"] else { return nil }
        guard let address = ListenAddress(text.isEmpty ? "127.0.0.1:8088" : text) else {
            throw UsageFault("--http must be an address such as 127.0.0.1:8088, [::1]:8088 or unix:/run/switchyard.sock, is '\(text)'")
        }
        guard address.isLocal else {
            throw UsageFault("--http: \(text) can be reached over the network, so it needs keys; name it in 'sources'")
        }
        return address
    }

    private static func time(_ arguments: Arguments, _ option: String) throws(UsageFault) -> Duration? {
        guard let text = arguments[option] else { return nil }
        guard let duration = Duration(configured: text) else {
            throw UsageFault("\(option) must be a time such as 500ms, 30s or 5m, is '\(text)'")
        }
        return duration
    }
}
