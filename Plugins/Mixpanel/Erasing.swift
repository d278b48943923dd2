// Erases people at Mixpanel by its data deletions (GDPR API). A deletion takes up to 30 days. The state is the tracking id of the deletion.

package import VendorKit

extension Mixpanel: ErasingVendor {
    static let byHand = "Delete the person in Mixpanel under Project Settings, Data & Privacy; or set gdpr_token, and the provider does it."
    private static let pause: UInt64 = 6 * 3_600_000
    private static let mostIDs = 1999

    package func erase(_ job: inout ErasureJob) -> ErasureStep {
        guard let deletions else { return .cannot(Mixpanel.byHand) }
        job.refuse(except: ["userId", "anonymousId"], "Mixpanel knows people only by userId and anonymousId; find the person by hand")
        if job.open.isEmpty { return .confirmed }
        let query = "?token=\(ErasureCall.percentEncoded(token))"
        if !job.state.isEmpty {
            let id = ErasureCall.percentEncoded(job.state)
            return .send(ErasureCall(deletions, path: "\(id)\(query)", method: .get, tag: "status"))
        }
        let ids = job.open.flatMap { index in
            let subject = job.subjects[index]
            // Under Simplified ID Merge the distinct_id of a device has a prefix, and so has a person that is known by devices only.
            return subject.member == "userId" || identity == .original ? [subject.id] : ["$device:\(subject.id)", subject.id]
        }
        guard ids.count <= Mixpanel.mostIDs else { return .cannot("Mixpanel takes at most \(Mixpanel.mostIDs) ids in a deletion") }
        let list = ids.map(ErasureCall.json).joined(separator: ",")
        let body = "{\"compliance_type\":\"GDPR\",\"distinct_ids\":[\(list)]}"
        return .send(ErasureCall(deletions, path: query, body: body, tag: "begin"))
    }

    package func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep {
        if call.tag == "status", reply.status == 404 { return job.beginAnew("Mixpanel does not know the deletion any more") }
        guard 200..<300 ~= reply.status else { return .standard }
        let found: (id: String?, status: String?) = reply.withJSON { answer in
            // The results are a list of one deletion, or the deletion.
            let result = answer?["results"].flatMap { $0.isList ? $0.elements.first { _ in true } : $0 }
            return (result?["tracking_id"]?.text ?? result?["task_id"]?.text, result?["status"]?.text)
        }
        if call.tag == "begin" {
            guard let id = found.id, !id.isEmpty else { return .end(.unknown("Mixpanel's answer has no number of the deletion")) }
            job.state = id
            return .askAgain("Mixpanel has taken the deletion, which can last 30 days", afterMilliseconds: Mixpanel.pause)
        }
        // An answer about another deletion says nothing about this one.
        guard found.id ?? job.state == job.state else { return .end(.unknown("Mixpanel answered about another deletion")) }
        switch found.status {
        case "SUCCESS": return .confirmed
        case "PENDING", "STAGING", "STARTED": return .askAgain("Mixpanel is at work", afterMilliseconds: Mixpanel.pause)
        case "FAILURE", "NOT_FOUND": return job.beginAnew("the deletion failed at Mixpanel, and is asked for again")
        case "REVOKED": return .cannot("somebody has cancelled the deletion at Mixpanel; delete the person there by hand")
        default: return .end(.unknown("Mixpanel does not say how far the deletion is"))
        }
    }
}
