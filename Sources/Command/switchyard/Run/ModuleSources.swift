// The sources of a run that modules bring. They are made for its plan, start before the first event is read, and end when everything that
// they handed on has its answer. If all sources of the run are modules and all of them have ended, the input has ended.

internal import Ingest
internal import InspectCommands
internal import Plans
internal import Platform
internal import Router
internal import Startup

struct ModuleSources: Sendable {
    private let sources: [ModuleSource]

    init(_ plan: Plan, _ made: [Int: MadeSource], _ router: Router, say: @escaping @Sendable (String) -> Void) {
        guard let sink = router.sink else {
            sources = []
            return
        }
        let left = Monitor(made.count)
        let canEnd = plan.readsOnlyModules
        sources = made.sorted { $0.key < $1.key }.compactMap { index, one in
            let source = plan.sources[index]
            guard let settings = source.module else { return nil }
            return ModuleSource(
                name: source.name, index: index, bound: settings.inFlight, lineLimit: plan.limits.line, stopTime: plan.shutdown.deadline,
                module: one.instance, sink: sink, say: say
            ) {
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast, canEnd { router.endInput() }
            }
        }
    }

    func start() { for source in sources { source.start() } }

    /// Takes no more events.
    func quiesce() { for source in sources { source.quiesce() } }

    /// Acknowledges what has ended, and closes the modules.
    func stop() { ModuleSource.stop(sources) }

    var status: [ModuleSourceStatus] { sources.map { ModuleSourceStatus(name: $0.name, condition: $0.condition) } }
}
