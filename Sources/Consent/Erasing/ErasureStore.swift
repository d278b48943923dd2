// The file of erasure jobs as several threads share it. It is made by the first run that may send events, or with the first job.

public import Platform

public final class ErasureStore: Sendable {
    private enum State {
        case none
        case open(ErasureFile)
        case closed
    }

    public let path: String
    private let options: ErasureFile.Options
    private let clock: Clock
    private let state: Monitor<State>

    /// Opens the file of the folder if there is one. A damaged one is set aside, what can be read of it is taken over, and the loss is
    /// reported.
    public init(in folder: String, options: ErasureFile.Options, clock: Clock = .system) throws(StorageFault) {
        path = folder + "/" + ErasureFile.name
        self.options = options
        self.clock = clock
        let file = try ErasureFile(path, makes: false, at: clock.wall(), options: options)
        state = Monitor(file.map { .open($0) } ?? .none)
    }

    /// Calls the body with the file, for one caller at a time. Returns nil if there is no file and `makes` is false.
    func use<R>(makes: Bool = false, _ body: (ErasureFile) throws(StorageFault) -> R) throws(StorageFault) -> R? {
        try state.withLock { (state) throws(StorageFault) in
            switch state {
            case .open(let file): return try body(file)
            case .closed: throw StorageFault(.failed, "\(path): the router is ending")
            case .none:
                guard makes, let file = try ErasureFile(path, makes: true, at: clock.wall(), options: options) else { return nil }
                state = .open(file)
                return try body(file)
            }
        }
    }

    /// Records that these providers may get events from now on. It must return before any of them is sent one: what a provider got before it
    /// was on record would never be erased there once it is out of the configuration.
    public func remember(_ providers: Set<String>) throws(StorageFault) {
        if providers.isEmpty { return }
        _ = try use(makes: true) { (file) throws(StorageFault) in try file.remember(providers, at: clock.wall()) }
    }

    /// The providers that may have got events, in the order of their names.
    public func receivers() throws(StorageFault) -> [Receiver] {
        try use { (file) throws(StorageFault) in try file.receivers() } ?? []
    }

    /// Returns the fault if the file was removed, moved away or replaced.
    public func checkPlace() -> StorageFault? {
        do throws(StorageFault) {
            try use { (file) throws(StorageFault) in try file.checkPlace() }
            return nil
        } catch {
            return error.kind == .removed ? error : nil
        }
    }

    public func close() {
        state.withLock { state in
            if case .open(let file) = state { file.close() }
            state = .closed
        }
    }
}
