// Erases people at Braze: their profiles are looked up, deleted, and looked up again, until there are none. It needs no state.

package import VendorKit

extension Braze: ErasingVendor {
    static let byHand = "Delete the user in Braze under Audience, Search Users."
    private static let pause: UInt64 = 3_600_000
    private static let mostIDs = 50

    package func erase(_ job: inout ErasureJob) -> ErasureStep {
        job.refuse(except: ["userId", "anonymousId"], "Braze knows people only by userId and anonymousId; find the person by hand")
        return find(job)
    }

    /// Looks up the next ids of one kind.
    private func find(_ job: ErasureJob) -> ErasureStep {
        guard let part = part(job) else { return .confirmed }
        let body = "{\(members(of: part, in: job)),\"fields_to_export\":[\"external_id\",\"user_aliases\"]}"
        return .send(ErasureCall(lookup, body: body, tag: "find"))
    }

    /// The next ids of one kind, as many as a request takes.
    private func part(_ job: ErasureJob) -> ArraySlice<Int>? {
        let kinds = [job.indices(of: ["userId"]), job.indices(of: ["anonymousId"])]
        return kinds.first { !$0.isEmpty }?.prefix(Braze.mostIDs)
    }

    private func members(of part: ArraySlice<Int>, in job: ErasureJob) -> String {
        let ids = part.map { ErasureCall.json(job.subjects[$0].id) }
        guard let first = part.first, job.subjects[first].member == "anonymousId" else {
            return "\"external_ids\":[\(ids.joined(separator: ","))]"
        }
        let label = ErasureCall.json(aliasLabel)
        return "\"user_aliases\":[\(ids.map { "{\"alias_name\":\($0),\"alias_label\":\(label)}" }.joined(separator: ","))]"
    }

    package func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep {
        guard 200..<300 ~= reply.status, let part = part(job) else { return .standard }
        if call.tag == "delete" { return .askAgain("Braze has taken the deletion", afterMilliseconds: Braze.pause) }
        let count = reply.withJSON { answer in
            answer?["users"].flatMap { $0.isList ? $0.elements.reduce(0) { count, _ in count + 1 } : nil }
        }
        guard let count else { return .end(.unknown("Braze's answer does not say which of the people it knows")) }
        if count > 0 { return .send(ErasureCall(deletions, body: "{\(members(of: part, in: job))}", tag: "delete")) }
        for index in part { job.settle(index, .delivered) }
        return find(job)
    }
}
