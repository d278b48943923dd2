// Erases people at PostHog: each id is looked up, the person that it belongs to is deleted with all events, and the job is done when no id
// leads to a person and PostHog says that it has deleted the events of each. The state is the uuids of the persons whose events are still
// being deleted, one per line.

package import VendorKit

extension PostHog: ErasingVendor {
    static let byHand =
        "Delete the person in PostHog under People, together with the events; "
        + "or set personal_key and project_id, and the provider does it."
    /// PostHog deletes events at weekends.
    private static let pause: UInt64 = 12 * 3_600_000
    /// After so long without a word about the events a person must look.
    private static let patience: Int64 = 30 * 86_400_000_000_000

    package func erase(_ job: inout ErasureJob) -> ErasureStep {
        guard persons != nil else { return .cannot(PostHog.byHand) }
        job.refuse(except: ["userId", "anonymousId"], "PostHog knows people only by userId and anonymousId; find the person by hand")
        for index in job.open where profiles == .none || profiles == .identified && job.subjects[index].member != "userId" {
            job.settle(index, .rejected("PostHog keeps events of this id without a person; have its support delete them"))
        }
        return find(from: 0, hasDeleted: false, job)
    }

    package func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep {
        let words = call.tag.split(separator: " ")
        let hasDeleted = words.last == "deleted"
        switch words[0] {
        case "find":
            let index = Int(words[1])!
            guard 200..<300 ~= reply.status else { return .standard }
            let found: [String]? = reply.withJSON { answer in
                guard let results = answer?["results"], results.isList else { return nil }
                return results.elements.compactMap { $0["uuid"].flatMap { $0.isUUID ? $0.text : nil } }
            }
            guard let found, let persons else { return .end(.unknown("PostHog's answer does not say whether there is a person")) }
            guard let person = found.first else { return find(from: index + 1, hasDeleted: hasDeleted, job) }
            if !job.lines.contains(person) { job.lines.append(person) }
            return .send(ErasureCall(persons, path: "\(person)/?delete_events=true", method: .delete, tag: "delete \(index)"))
        case "delete":
            // Somebody else may have deleted the person just now.
            guard 200..<300 ~= reply.status || reply.status == 404 else { return .standard }
            return find(from: Int(words[1])! + 1, hasDeleted: true, job)
        default:
            let person = String(words[1])
            guard 200..<300 ~= reply.status else { return .standard }
            let status = reply.withJSON { answer -> Bool?? in
                guard let results = answer?["results"], results.isList else { return nil }
                let row = results.elements.first { $0["person_uuid"]?.text == person }
                return .some(row.map { $0["status"]?.isText("completed") ?? false })
            }
            guard let status else { return .end(.unknown("PostHog's answer does not say whether the events are deleted")) }
            if status == true {
                job.lines.removeAll { $0 == person }
                return ask(hasDeleted: hasDeleted, job)
            }
            if status == nil, job.now - job.begun > PostHog.patience {
                return .cannot("PostHog has deleted the person and does not say what became of the events; look for them there")
            }
            return .askAgain("PostHog is deleting the events", afterMilliseconds: PostHog.pause)
        }
    }

    /// Looks up the next id.
    private func find(from first: Int, hasDeleted: Bool, _ job: ErasureJob) -> ErasureStep {
        guard let persons, let index = job.open.first(where: { $0 >= first }) else { return ask(hasDeleted: hasDeleted, job) }
        let id = ErasureCall.percentEncoded(job.subjects[index].id)
        return .send(ErasureCall(persons, path: "?distinct_id=\(id)", tag: "find \(index)" + (hasDeleted ? " deleted" : "")))
    }

    /// Asks about the events of the next deleted person. What was deleted in this round is looked up again in another one before the job is
    /// done: an answer that PostHog accepted a deletion confirms nothing.
    private func ask(hasDeleted: Bool, _ job: ErasureJob) -> ErasureStep {
        if hasDeleted { return .askAgain("PostHog has taken the deletion", afterMilliseconds: PostHog.pause) }
        guard let persons, let person = job.lines.first else { return .confirmed }
        return .send(ErasureCall(persons, path: "deletion_status/?person_uuid=\(person)&status=all", tag: "status \(person)"))
    }
}
