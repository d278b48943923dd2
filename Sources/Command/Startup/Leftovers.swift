// Lists what a state folder holds and the configuration does not use, so that it would stay there forever: the queue of a provider that is
// gone or whose queue is no longer on disk, held events and a ledger without `consent.ledger`, and dead letters whose provider is gone. It
// changes nothing and does not list what is empty.

internal import DeadLetterStore
internal import Glibc
internal import HeldEventStore
internal import Ledger
public import Plans
internal import Platform
public import Spool
internal import StateFiles

public struct Leftovers {
    public let folder: String
    private let plan: Plan
    public let spools: [SpoolSummary]

    /// `except` names providers whose spools are still in use, such as those that a reload has removed.
    public init(_ plan: Plan, in folder: String, except: Set<String> = []) {
        self.plan = plan
        self.folder = folder
        let own = Set(plan.providers.filter { $0.delivery.queue.disk != nil }.map(\.name)).union(except)
        spools = StateFolder.spools(in: folder).filter { !own.contains($0) }.map { SpoolSummary(of: $0, in: folder) }
            .filter { $0.events > 0 || $0.fault != nil }
    }

    public var isThere: Bool { access(folder, F_OK) == 0 }

    /// One line for each queue and file, with the commands that resolve it.
    public var lines: [String] { spools.map(line) + [held, ledger].compactMap(\.self) }

    /// One line for each provider that is gone and has dead letters, and one for a damaged file. The letters are not in `lines`, since they
    /// were reported when they were given up.
    public var letters: [String] {
        let opened: DeadLetterFile?
        do throws(StorageFault) {
            opened = try DeadLetterFile(folder + "/" + DeadLetterFile.name, makes: false)
        } catch {
            return error.kind == .damaged ? [printable(error.description)] : []
        }
        guard let file = opened else { return [] }
        defer { file.close() }
        var counts: [(provider: String, events: Int)] = []
        for count in (try? file.counts()) ?? [] where !plan.providers.contains(where: { $0.name == count.provider }) {
            if counts.last?.provider == count.provider {
                counts[counts.count - 1].events += count.count
            } else {
                counts.append((count.provider, count.count))
            }
        }
        return counts.map {
            "\(printable(folder))/\(DeadLetterFile.name): \(events($0.events)) for \(printable($0.provider)), and the configuration has no provider "
                + "of this name, so that no replay sends them; switchyard dead-letters --state \(shellWord(folder)) --provider "
                + "\(shellWord($0.provider)) --events prints them"
        }
    }

    private func line(_ spool: SpoolSummary) -> String {
        let isGone = !plan.providers.contains { $0.name == spool.provider }
        let reason =
            isGone
            ? "the configuration has no provider of this name" : "the configuration does not keep its queue on disk (delivery.queue.disk)"
        let waiting =
            spool.fault.map { "\($0); \(reason)" }
            ?? "\(printable(spool.path)): \(events(spool.events)) \(spool.events == 1 ? "waits" : "wait") for \(printable(spool.provider))"
            + "\(spool.oldest.map { " since \(timestamp($0))" } ?? ""), and \(reason)"
        let command = "switchyard spool --state \(shellWord(folder))"
        // A name that begins with a dash would be parsed as an option.
        let name = (spool.provider.hasPrefix("-") ? "-- " : "") + shellWord(spool.provider)
        return "\(waiting); while no router has the folder, \(command) move \(name) NEW gives them to another provider, "
            + "\(command) destroy \(name) destroys them"
    }

    private var held: String? {
        guard plan.consent?.ledger == nil, let left = HeldSummary(in: folder), left.events > 0 || left.fault != nil else { return nil }
        let file = printable(folder) + "/" + HeldFile.name
        return left.fault.map { "\($0); the configuration has no consent.ledger" }
            ?? "\(file): \(events(left.events)) \(left.events == 1 ? "waits" : "wait") for consent"
            + "\(left.oldest.map { " since \(timestamp($0))" } ?? ""), and the configuration has no consent.ledger, so that nothing can "
            + "release them; configure it again, or remove the file with its -wal and .witness to destroy them"
    }

    private var ledger: String? {
        guard plan.consent?.ledger == nil, let left = LedgerRemains(in: folder), left.subjects > 0 || left.fault != nil else { return nil }
        let file = printable(folder) + "/" + LedgerFile.name
        let unfinished =
            left.unfinished == 0
            ? ""
            : ", and \(left.unfinished == 1 ? "a withdrawal is" : "\(grouped(left.unfinished)) withdrawals are") not finished"
        return left.fault.map { "\($0); the configuration has no consent.ledger" }
            ?? "\(file): \(left.subjects == 1 ? "1 id is" : "\(grouped(left.subjects)) ids are") on record\(unfinished), and the "
            + "configuration has no consent.ledger, so that no record is used; configure it again, or move the file away"
    }

    private func events(_ count: Int) -> String { count == 1 ? "1 event" : "\(grouped(count)) events" }
}
