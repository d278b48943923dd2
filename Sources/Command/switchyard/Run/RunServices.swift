// What runs beside the router of a run: its sources besides standard input, the reload, and the servers that answer requests about it.

internal import ConsentCommands
internal import Control
internal import InspectCommands
internal import Plans
internal import Platform
internal import PluginHost
internal import Router
internal import Startup

struct RunServices {
    private let router: Router
    private let listeners: Listeners
    private let followers: Followers
    private let modules: ModuleSources
    private let reloader: Reloader
    private let service: ControlService
    private var stateWatch: StateWatch?
    private var pings: ServicePings?
    private var servers: ControlServers?

    /// `started` is the time at which the program was started, in nanoseconds since 1970. `descriptors` is the number of descriptors that the
    /// process may have open at once.
    init(
        _ router: Router, of plan: Plan, sources: [Int: MadeSource], options: RouterOptions, settings: RunSettings, folders: ModuleFolders,
        storage: Storage,
        masks: Masks, started: Int64, descriptors: Int, say: @escaping @Sendable (String) -> Void
    ) throws {
        self.router = router
        listeners = Listeners(
            plan, router, shares: DescriptorShares(plan, limit: descriptors, open: DescriptorLimit.open), watchdog: options.watchdog,
            say: say)
        followers = try Followers(plan, router, folder: storage.path, say: say)
        modules = ModuleSources(plan, sources, router, say: say)
        reloader = Reloader(
            settings.file, http: settings.http, folders: folders, router: router, storage: storage, audit: options.audit, masks: masks,
            say: say)
        var consent: LedgerService?
        if let registry = options.registry, let withdrawals = router.withdrawals, let erasures = router.erasures {
            consent = LedgerService(.running(registry, withdrawals), erasures: erasures, folder: settings.folder, audit: options.audit)
        }
        let taps = TapService(router, audit: options.audit)
        var page: PageService?
        if let admin = plan.admin, admin.hasPage {
            let (listeners, modules, file) = (listeners, modules, settings.file)
            let replays = PageReplay(file: file, folder: settings.folder)
            page = PageService(
                router, origins: admin.origins, audit: options.audit, taps: taps, replays: replays, file: file, folder: settings.folder,
                say: say
            ) {
                StatusReport(
                    router, listeners.status, modules: modules.status, folder: settings.folder, configuration: file, started: started)
            }
        }
        service = ControlService(
            router: router, listeners: listeners, modules: modules, reloader: reloader, folder: settings.folder, started: started,
            consent: consent, taps: taps, page: page)
    }

    /// Starts everything. `watch` reports changes of the configuration file. It is nil without `--watch`.
    mutating func start(
        _ plan: Plan, watch: FileChanges?, storage: Storage, say: @escaping @Sendable (String) -> Void
    ) throws {
        let (router, reloader, listeners, followers, modules) = (router, reloader, listeners, followers, modules)
        Signals.serve(
            router,
            ending: {
                listeners.quiesce()
                followers.quiesce()
                modules.quiesce()
            }, reload: { reloader.reload() }, say: say)
        ModuleExits.end(router, within: plan.shutdown.deadline, say: say)
        try listeners.start(say: say)
        followers.start()
        modules.start()
        if let watch { follow(watch, reloader) }
        stateWatch = storage.watch(router, say: say)
        // Do this last: a client that gets an answer may send signals.
        servers = try ControlServers(plan, service, folder: storage.path, say: say)
        stateWatch?.start()
        ServiceManager.notify("READY=1")
        pings = ServicePings.start { router.health.isGood }
    }

    /// Reloads the configuration whenever its file has changed. The watch belongs to the thread from now on.
    private func follow(_ watch: FileChanges, _ reloader: Reloader) {
        nonisolated(unsafe) let watch = watch
        Thread.start("watch file") {
            while let file = (try? watch.next())?.first {
                // The file that the name leads to now may lie in another folder. It is noted before it is read.
                watch.begin()
                watch.note(file)
                reloader.reload()
            }
        }.detach()
    }

    /// Stops everything but the servers, after the router has ended. Waits for answers that are still to be sent.
    func stop() {
        stateWatch?.end()
        pings?.end()
        ServiceManager.notify("STOPPING=1")
        listeners.stop()
        followers.stop()
        modules.stop()
        Signals.settle()
    }

    /// Closes the servers. It is called after the result of the run was reported.
    func close() { servers?.close() }
}
