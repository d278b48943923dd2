// Writes jobs to the file, and reads them.

internal import Database
public import Platform
internal import StateFiles

extension ErasureFile {
    /// Adds all of these jobs, or none. Returns them with their numbers. When this returns, they are on disk.
    public func add(_ jobs: [ErasureJob]) throws(StorageFault) -> [ErasureJob] {
        if jobs.isEmpty { return [] }
        let all = try file.transaction { () throws(StorageFault) -> [ErasureJob] in
            var added: [ErasureJob] = []
            for var job in jobs {
                // No number is used twice, because the encrypted ids are bound to it.
                file.last += 1
                job.number = file.last
                try database.statement(
                    """
                    INSERT INTO jobs (id, provider, plugin, phase, origin, begun, attempts, code, words, out_of_reach)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, '', ?7)
                    """
                ).bind(1, job.number).bind(2, job.provider).bind(3, job.plugin).bind(4, job.phase.rawValue).bind(5, job.origin)
                    .bind(6, job.begun).bind(7, job.outOfReach.joined(separator: "\n")).run()
                for receipt in Set(job.receipts).sorted() {
                    try database.statement("INSERT INTO reaches (receipt, job) VALUES (?1, ?2)").bind(1, receipt).bind(2, job.number).run()
                }
                try write(job)
                added.append(job)
            }
            return added
        }
        for job in all { options.noted(job) }
        return all
    }

    /// Writes what has changed of a job.
    public func update(_ job: ErasureJob) throws(StorageFault) {
        assert(job.number > 0, "a job that is not in the file is changed")
        try file.transaction { () throws(StorageFault) in try write(job) }
        options.noted(job)
        // Nothing of the ids stays in the log.
        if job.contents == nil, !job.isUnreadable { try? file.tidy() }
    }

    private func write(_ job: ErasureJob) throws(StorageFault) {
        let update = try database.statement(
            """
            UPDATE jobs SET plugin = ?2, phase = ?3, begun = ?4, next = nullif(?5, 0), attempts = ?6, asked = nullif(?7, 0),
              ended = nullif(?8, 0), code = ?9, words = ?10, sealed = CASE ?11 WHEN 0 THEN NULL WHEN 1 THEN ?12 ELSE sealed END
            WHERE id = ?1
            """)
        update.bind(1, job.number).bind(2, job.plugin).bind(3, job.phase.rawValue).bind(4, job.begun).bind(5, job.next ?? 0)
        update.bind(6, job.attempts).bind(7, job.asked ?? 0).bind(8, job.ended ?? 0).bind(9, job.code).bind(10, job.words)
        let sealed = sealed(job)
        // Contents that cannot be read now stay, because a key may come back.
        update.bind(11, job.isUnreadable ? 2 : sealed == nil ? 0 : 1)
        try (sealed ?? []).withUnsafeBufferPointer { (bytes) throws(StorageFault) in
            try update.bind(12, lending: UnsafeRawBufferPointer(bytes)).run()
        }
    }

    // MARK: - Reading

    private static let columns = """
        SELECT id, provider, plugin, phase, origin, begun, next, attempts, asked, ended, code, words, out_of_reach, sealed FROM jobs
        WHERE \(isWhole)
        """

    public func job(_ number: Int64) throws(StorageFault) -> ErasureJob? {
        try jobs(try database.statement("\(ErasureFile.columns) AND id = ?1").bind(1, number)).first
    }

    /// Returns the jobs after this number, in order.
    public func jobs(after number: Int64 = 0, most: Int = 500) throws(StorageFault) -> [ErasureJob] {
        try jobs(try database.statement("\(ErasureFile.columns) AND id > ?1 ORDER BY id LIMIT ?2").bind(1, number).bind(2, most))
    }

    /// Returns the jobs that belong to a withdrawal.
    public func jobs(of receipt: Int64) throws(StorageFault) -> [ErasureJob] {
        try jobs(
            try database.statement(
                "\(ErasureFile.columns) AND id IN (SELECT job FROM reaches WHERE receipt = ?1 AND \(ErasureFile.isReachWhole)) ORDER BY id"
            ).bind(1, receipt))
    }

    /// Returns the jobs of a provider whose time to be asked has come, the most urgent first.
    func due(_ provider: String, at now: Int64, most: Int) throws(StorageFault) -> [ErasureJob] {
        try jobs(
            try database.statement(
                "\(ErasureFile.columns) AND provider = ?1 AND next IS NOT NULL AND next <= ?2 ORDER BY next, id LIMIT ?3"
            )
            .bind(1, provider).bind(2, now).bind(3, most))
    }

    /// Returns when a provider is to be asked next, for each provider with an open job.
    func times() throws(StorageFault) -> [(provider: String, next: Int64)] {
        let find = try database.statement(
            "SELECT provider, min(next) FROM jobs WHERE next IS NOT NULL AND \(ErasureFile.isWhole) GROUP BY provider ORDER BY 2, 1")
        defer { find.reset() }
        var times: [(String, Int64)] = []
        while try find.step() { times.append((find.text(0), find.int(1))) }
        return times
    }

    /// Asks the open jobs of these providers as soon as possible.
    func hasten(_ providers: Set<String>, at now: Int64) throws(StorageFault) {
        let known = try times().map(\.provider).filter(providers.contains)
        if known.isEmpty { return }
        try file.transaction { () throws(StorageFault) in
            for name in known {
                try database.statement("UPDATE jobs SET next = ?2 WHERE provider = ?1 AND next > ?2 AND attempts > 0").bind(1, name)
                    .bind(2, now).run()
            }
        }
    }

    /// Gives the open jobs another time that would be asked only after `limit`, and lets them begin no later than now.
    func correct(after limit: Int64, to next: Int64, at now: Int64) throws(StorageFault) {
        guard try database.number("SELECT max(next) FROM jobs WHERE next IS NOT NULL") ?? 0 > limit else { return }
        try file.transaction { () throws(StorageFault) in
            try database.statement("UPDATE jobs SET next = ?2, begun = min(begun, ?3) WHERE next > ?1")
                .bind(1, limit).bind(2, next).bind(3, now).run()
        }
    }

    /// Counts the jobs by provider and phase.
    public func counts() throws(StorageFault) -> [ErasureCount] {
        let find = try database.statement("SELECT provider, phase, count(*) FROM jobs GROUP BY 1, 2 ORDER BY 1, 2")
        defer { find.reset() }
        var counts: [ErasureCount] = []
        while try find.step() {
            guard let phase = ErasureJob.Phase(rawValue: find.text(1)) else { continue }
            counts.append(ErasureCount(provider: find.text(0), phase: phase, jobs: Int(find.int(2))))
        }
        return counts
    }

    private func jobs(_ find: Statement) throws(StorageFault) -> [ErasureJob] {
        var jobs: [ErasureJob] = []
        do {
            defer { find.reset() }
            while try find.step() {
                guard let phase = ErasureJob.Phase(rawValue: find.text(3)) else {
                    throw StorageFault(.damaged, "\(database.path): job \(find.int(0)) is in no phase that this version knows")
                }
                var job = ErasureJob(
                    provider: find.text(1), plugin: find.text(2), origin: find.text(4), begun: find.int(5), receipts: [],
                    contents: ErasureJob.Contents(named: [], subjects: []))
                (job.number, job.phase, job.attempts, job.code) = (find.int(0), phase, Int(find.int(7)), Int(find.int(10)))
                job.next = find.isNull(6) ? nil : find.int(6)
                job.asked = find.isNull(8) ? nil : find.int(8)
                job.ended = find.isNull(9) ? nil : find.int(9)
                job.words = find.text(11)
                job.outOfReach = find.text(12).split(separator: "\n").map(String.init)
                job.contents = find.isNull(13) ? nil : opened(find.bytes(13), of: job.number)
                job.isUnreadable = !find.isNull(13) && job.contents == nil
                jobs.append(job)
            }
        }
        for index in jobs.indices { jobs[index].receipts = try receipts(of: jobs[index].number) }
        return jobs
    }

    private func receipts(of job: Int64) throws(StorageFault) -> [Int64] {
        let find = try database.statement("SELECT receipt FROM reaches WHERE job = ?1 AND \(ErasureFile.isReachWhole) ORDER BY 1").bind(
            1, job)
        defer { find.reset() }
        var receipts: [Int64] = []
        while try find.step() { receipts.append(find.int(0)) }
        return receipts
    }
}

/// The number of jobs of a provider in one phase.
public struct ErasureCount: Sendable, Equatable {
    public var provider: String
    public var phase: ErasureJob.Phase
    public var jobs: Int
}
