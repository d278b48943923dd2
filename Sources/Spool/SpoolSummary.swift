// What a spool file holds, for who only wants to look: a person, or a router that has no provider for it. Nothing is changed, made
// or set aside, and no key is needed.

internal import Database
internal import Platform

public struct SpoolSummary: Sendable, Equatable {
    public var provider: String
    public var path: String
    public var events = 0
    public var bytes = 0
    /// When the oldest came in, in nanoseconds since 1970.
    public var oldest: Int64?
    /// Why it could not be read; then the figures say nothing.
    public var fault: String?

    public init(of provider: String, in folder: String) {
        self.provider = provider
        path = StateFolder.spool(of: provider, in: folder)
        do throws(SpoolFault) {
            let database = try Database(path, makes: false, patience: 1000)
            defer { database.close() }
            guard try database.isMarked(as: SpoolSchema.format) else {
                throw SpoolFault(.foreign, "\(path): is no spool")
            }
            events = Int(try database.number("SELECT coalesce(sum(events), 0) FROM waiting") ?? 0)
            bytes = Int(try database.number("SELECT coalesce(sum(bytes), 0) FROM waiting") ?? 0)
            oldest = events > 0 ? try database.number("SELECT arrival FROM batches ORDER BY id LIMIT 1") : nil
        } catch {
            fault = error.description
        }
    }
}
