// The sources of a run that read files. They are made for its plan, start before the first event is read, and end when everything that they
// handed on has its answer.

internal import Ingest
internal import Plans
internal import Platform
internal import Router
internal import StateFiles
internal import Terminal

struct Followers: Sendable {
    private let sources: [FileSource]

    /// `folder` is where the positions in the files are kept. It is nil if they are not kept.
    init(_ plan: Plan, _ router: Router, folder: String?, say: @escaping @Sendable (String) -> Void) throws(StateFailure) {
        do {
            sources = try plan.sources.enumerated().compactMap { index, source in
                guard let file = source.file, let sink = router.sink else { return nil }
                return try FileSource(
                    name: source.name, plan: file, source: index, lineLimit: plan.limits.line,
                    places: folder.map { StateFolder.places(of: source.name, in: $0) }, sink: sink, say: say,
                    // The account counts the line.
                    overlong: { bytes in (sink as? Inbox)?.put(overlong: bytes, source: index) })
            }
        } catch {
            throw StateFailure((error as? FilePlacesFault)?.message ?? "\(error)")
        }
    }

    func start() { for source in sources { source.start() } }

    /// Stops reading.
    func quiesce() { for source in sources { source.quiesce() } }

    func stop() { for source in sources { source.stop() } }
}
