// Asks RudderStack to erase users at its destinations by its User Suppression API. RudderStack passes the deletion on and has no way to say
// when it is done, so a person must look at each destination: the erasure is never confirmed.

package import VendorKit

extension RudderStack: ErasingVendor {
    static let byHand =
        "Delete the user in each destination of RudderStack; or set access_token and destination_ids, and RudderStack asks them."

    package func erase(_ job: inout ErasureJob) -> ErasureStep {
        guard let regulations else { return .cannot(RudderStack.byHand) }
        job.refuse(except: ["userId"], "RudderStack erases only by userId; delete what an anonymousId has sent in each destination")
        if job.open.isEmpty { return .confirmed }
        let users = job.open.map { "{\"userId\":\(ErasureCall.json(job.subjects[$0].id))}" }.joined(separator: ",")
        let destinations = destinationIDs.map(ErasureCall.json).joined(separator: ",")
        let body = "{\"regulationType\":\"suppress_with_delete\",\"destinationIds\":[\(destinations)],\"users\":[\(users)]}"
        return .send(ErasureCall(regulations, body: body))
    }

    package func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep {
        guard 200..<300 ~= reply.status else { return .standard }
        let taken = reply.withJSON { answer in
            Set((answer.map { Array($0.elements) } ?? []).compactMap { $0["attributes"]?["userId"]?.text })
        }
        guard job.open.allSatisfy({ taken.contains(job.subjects[$0].id) }) else {
            return .end(.unknown("RudderStack's answer does not name every user"))
        }
        return .cannot("RudderStack has passed the deletion on, and never says whether it is done; look at each of its destinations")
    }
}
