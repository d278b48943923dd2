// Erases users at Amplitude by its User Privacy API. Amplitude runs a deletion some days later, as part of the job of a day. The state is
// that day, and then the Amplitude ids of the users, one per line.

package import VendorKit

extension Amplitude: ErasingVendor {
    static let byHand = "Delete the user in Amplitude by its User Privacy API or support; or set secret_key, and the provider does it."
    private static let pause: UInt64 = 24 * 3_600_000
    private static let mostIDs = 100

    package func erase(_ job: inout ErasureJob) -> ErasureStep {
        guard let deletions else { return .cannot(Amplitude.byHand) }
        job.refuse(
            except: ["userId"],
            "Amplitude deletes by the id of a user, not of a device; look up the device there, and delete its Amplitude ID")
        if job.open.isEmpty { return .confirmed }
        if let day = job.lines.first {
            return .send(ErasureCall(deletions, path: "?start_day=\(day)&end_day=\(day)", method: .get, tag: "status"))
        }
        guard job.open.count <= Amplitude.mostIDs else {
            return .cannot("Amplitude takes at most \(Amplitude.mostIDs) users in a deletion")
        }
        // A user that Amplitude does not know would otherwise keep it from deleting the others.
        let body = "{\"user_ids\":\(job.list(of: ["userId"])),\"requester\":\"switchyard\",\"ignore_invalid_id\":\"True\"}"
        return .send(ErasureCall(deletions, body: body, tag: "begin"))
    }

    package func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep {
        guard 200..<300 ~= reply.status else { return .standard }
        let rows: [Day]? = reply.withJSON { answer in
            guard let answer, answer.isObject || answer.isList else { return nil }
            return answer.isList ? answer.elements.compactMap { Day($0) } : Day(answer).map { [$0] }
        }
        guard let rows else { return .end(.unknown("Amplitude's answer is no list of deletions")) }
        if call.tag == "begin" {
            guard let row = rows.first else { return .end(.unknown("Amplitude's answer names no day of the deletion")) }
            // Amplitude knows none of the users.
            if row.ids.isEmpty { return .confirmed }
            job.lines = [row.day] + row.ids
            return .askAgain("Amplitude deletes on \(row.day)", afterMilliseconds: Amplitude.pause)
        }
        let (day, ids) = (job.lines[0], Set(job.lines.dropFirst()))
        let jobs = rows.filter { $0.day == day && !ids.isDisjoint(with: $0.ids) }
        guard ids.isSubset(of: jobs.flatMap(\.ids)) else {
            return job.beginAnew("Amplitude's job of \(day) lacks a user; it is asked for again")
        }
        if jobs.allSatisfy({ $0.status == "done" }) { return .confirmed }
        return .askAgain("Amplitude deletes on \(day)", afterMilliseconds: Amplitude.pause)
    }

    /// The deletions of a day.
    private struct Day {
        let day, status: String
        let ids: [String]

        init?(_ row: Value) {
            guard let day = row["day"]?.text, day.utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 == 0x2d }), !day.isEmpty,
                let status = row["status"]?.text, let users = row["amplitude_ids"], users.isList
            else { return nil }
            let ids = users.elements.compactMap { ($0["amplitude_id"] ?? $0).event.integer.map { "\($0)" } }
            (self.day, self.status, self.ids) = (day, status, ids)
        }
    }
}
