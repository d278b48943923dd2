// Erases users at Segment by a regulation of its Public API, which Segment passes on to its destinations too. The state is the id of the
// regulation.

package import VendorKit

extension Segment: ErasingVendor {
    static let byHand = "Delete the user in Segment under Privacy, Deletion and Suppression; or set api_token, and the provider does it."
    private static let pause: UInt64 = 6 * 3_600_000
    private static let mostIDs = 5000

    package func erase(_ job: inout ErasureJob) -> ErasureStep {
        guard let regulations else { return .cannot(Segment.byHand) }
        job.refuse(except: ["userId"], "Segment erases only by userId; ask its support to delete what an anonymousId has sent")
        if job.open.isEmpty { return .confirmed }
        if !job.state.isEmpty {
            let id = ErasureCall.percentEncoded(job.state)
            return .send(ErasureCall(regulations, path: "/\(id)", method: .get, tag: "status"))
        }
        guard job.open.count <= Segment.mostIDs else { return .cannot("Segment takes at most \(Segment.mostIDs) ids in a regulation") }
        let body = "{\"regulationType\":\"\(regulationType)\",\"subjectType\":\"USER_ID\",\"subjectIds\":\(job.list(of: ["userId"]))}"
        return .send(ErasureCall(regulations, body: body, tag: "begin"))
    }

    package func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep {
        if call.tag == "status", reply.status == 404 { return job.beginAnew("Segment does not know the regulation any more") }
        guard 200..<300 ~= reply.status else { return .standard }
        if call.tag == "begin" {
            guard let id = reply.withJSON({ $0?["data"]?["regulateId"]?.text }), !id.isEmpty else {
                return .end(.unknown("Segment's answer has no id of the regulation"))
            }
            job.state = id
            return .askAgain("Segment has taken the regulation", afterMilliseconds: Segment.pause)
        }
        let found: (id: String?, status: String?) = reply.withJSON { answer in
            let regulation = answer?["data"]?["regulation"]
            return (regulation?["id"]?.text, regulation?["overallStatus"]?.text)
        }
        guard found.id ?? job.state == job.state else { return .end(.unknown("Segment answered about another regulation")) }
        switch found.status {
        case "FINISHED": return .confirmed
        case "INITIALIZED", "RUNNING": return .askAgain("Segment is at work", afterMilliseconds: Segment.pause)
        case "FAILED": return job.beginAnew("the regulation failed at Segment, and is asked for again")
        case "PARTIAL_SUCCESS", "NOT_SUPPORTED":
            return .cannot("Segment has erased the user itself, but not every destination of the workspace; delete the user there by hand")
        case "INVALID": return .cannot("Segment does not take the regulation; delete the user there under Privacy")
        default: return .end(.unknown("Segment does not say how far the regulation is"))
        }
    }
}
