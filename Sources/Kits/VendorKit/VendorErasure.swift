// Carries out the rounds of an erasure for a vendor. Its requests have a client of their own, so that an erasure neither waits for the
// deliveries nor makes them wait, whatever the vendor answers. The client is made with the first erasure.

internal import HTTPKit
public import PluginKit

/// The client for erasures, and the endpoints that the vendor has declared.
final class VendorErasing: Sendable {
    private let client: ClientOnDemand?
    private let bases: [String]
    private let methods: [Target.Method]
    private let clock: Clock
    private let secrets: Secrets

    /// The most requests of one round. A vendor that sends more has a loop.
    static let mostRequests = 1000

    /// `rules` is nil if the vendor declares no endpoint.
    init(_ rules: ClientRules?, _ endpoints: [Endpoint], _ secrets: Secrets, _ clock: Clock) {
        client = rules.map { ClientOnDemand($0, clock) }
        bases = endpoints.map { $0.base + $0.path }
        methods = endpoints.map(\.method)
        self.secrets = secrets
        self.clock = clock
    }

    func close() { client?.close() }

    /// Plays one round.
    func round(_ erasure: Erasure, by vendor: some ErasingVendor) -> Erasure.Answer {
        let until = Clock.system.now() + .milliseconds(erasure.deadlineMilliseconds)
        var job = ErasureJob(
            erasure.subjects, state: erasure.stateText, attempt: erasure.attempt, begun: erasure.begun, now: clock.wall())
        var step = vendor.erase(&job)
        for _ in 0..<Self.mostRequests {
            guard case .send(let call) = step else { return answer(end(step, nil), job) }
            guard let onDemand = client else { preconditionFailure("a vendor without an endpoint sends an erasure") }
            let client: HTTPClient
            do throws(SettingsFault) {
                client = try onDemand.client()
            } catch {
                return answer(.retry(error.description), job)
            }
            let left = (until - Clock.system.now()).nanoseconds / 1_000_000
            guard left > 0 else { return answer(.retry("the time of the call is over; the erasure goes on with the next one"), job) }
            let index = call.endpoint.index
            let place = Place(call.method ?? methods[index], bases[index] + call.path)
            switch client.ask(index, at: place, Array(call.body.utf8), within: Int(left)) {
            case .late: return answer(.unknown("\(client.origin(of: index)) gave no answer within the time of the call"), job)
            case .unanswered(let outcome): return answer(outcome, job)
            case .answered(let reply, let standard):
                step = vendor.judge(reply, to: call, of: &job)
                if case .send = step { continue }
                return answer(end(step, standard), job)
            }
        }
        return answer(.unknown("the erasure made more than \(Self.mostRequests) requests in one call"), job)
    }

    private func end(_ step: ErasureStep, _ standard: Outcome?) -> Outcome {
        switch step {
        case .confirmed: return .delivered
        case .askAgain(let words, let after): return .retry(words, afterMilliseconds: after)
        case .cannot(let words): return .rejected(words)
        case .end(let outcome): return outcome
        case .standard: return standard ?? .fault("the module ends an erasure by the status of an answer that it has not asked for")
        case .send: preconditionFailure("a round goes on")
        }
    }

    /// Returns the answer with the outcomes that the vendor's code has given to single subjects. It hides what no message may show.
    private func answer(_ outcome: Outcome, _ job: ErasureJob) -> Erasure.Answer {
        let own = job.settled.sorted { $0.key < $1.key }.map { (index: $0.key, outcome: shown($0.value, job)) }
        let state = Array(job.state.utf8)
        guard state.count <= Erasure.mostState else {
            return Erasure.Answer(
                .fault("the module wants to keep \(state.count) bytes for an erasure; at most \(Erasure.mostState) are kept"))
        }
        let rest = shown(outcome, job)
        // If every subject has an outcome of its own, nothing is left to ask for.
        let isSettled = own.count == job.subjects.count
        return Erasure.Answer(own.isEmpty ? rest : .mixed(rest: isSettled ? .delivered : rest, events: own), state: state)
    }

    private func shown(_ outcome: Outcome, _ job: ErasureJob) -> Outcome {
        let ids = Secrets(job.subjects.map(\.id))
        func shown(_ words: String) -> String { printable(ids.concealed(in: secrets.concealed(in: words))) }
        return switch outcome {
        case .rejected(let code, let words): .rejected(code: code, shown(words))
        case .retry(let code, let words, let pause): .retry(code: code, shown(words), afterMilliseconds: pause)
        case .unknown(let code, let words): .unknown(code: code, shown(words))
        case .fault(let code, let words): .fault(code: code, shown(words))
        case .closed(let words): .closed(shown(words))
        // Subjects get outcomes of their own by `settle`.
        case .mixed(let rest, _): self.shown(rest, job)
        case .delivered: .delivered
        // Only deliveries are put back untried.
        case .untried: .unknown("nothing was asked")
        }
    }
}

extension VendorProvider: SubjectEraser where V: ErasingVendor {
    public func erase(_ erasure: Erasure) -> Erasure.Answer { erasing.round(erasure, by: vendor) }
}
