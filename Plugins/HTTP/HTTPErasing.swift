// Asks a server to erase people by the setting `erase`: one request for all subjects of a job, or one for each. Its requests have a client of
// their own, so that an erasure neither waits for the deliveries nor makes them wait, whatever the server answers. The client is made with
// the first erasure.

internal import ExpressionKit
internal import HTTPKit
internal import PluginKit

final class HTTPErasing: Sendable {
    private let rules: ErasureSettings
    private let client: ClientOnDemand

    init(_ rules: ErasureSettings, _ clock: Clock) {
        self.rules = rules
        client = ClientOnDemand(rules.client, clock)
    }

    func close() { client.close() }

    /// Does one call of a job.
    func answer(_ erasure: Erasure) -> Erasure.Answer {
        // A quarter of the time is left for the answer: if it came too late, the router would not learn what is confirmed already.
        let until = Clock.system.now() + .milliseconds(erasure.deadlineMilliseconds - erasure.deadlineMilliseconds / 4)
        guard rules.template.isTogether else { return each(erasure, until: until) }
        let state = erasure.stateText
        let judged = ask(erasure.subjects, state: state, until: until)
        let states = judged.compactMap(\.state)
        return Erasure.Answer(outcome(judged, erasure.subjects), state: states.first.map { Array($0.utf8) })
    }

    /// Asks for one subject after another. The call begins with another subject each time, so one whose request always fails does not keep the
    /// others from being asked.
    private func each(_ erasure: Erasure, until: Instant) -> Erasure.Answer {
        let subjects = erasure.subjects
        var states = ErasureStates(erasure.stateText, of: subjects)
        var judged: [ErasureAnswers.Judged] = subjects.map { _ in
            ErasureAnswers.Judged(outcome: .retry("the erasure goes on with the next call"), isOfSubject: true)
        }
        let first = (max(1, erasure.attempt) - 1) % subjects.count
        for index in Array(first..<subjects.count) + Array(0..<first) {
            let subject = subjects[index]
            guard !rules.template.answers.giveStates || states.hasRoom(for: subject) else { continue }
            let result = ask([subject], state: states[subject], until: until)[0]
            judged[index] = result
            if let state = result.state { states[subject] = state }
            // The others would get the same answer, or none.
            guard result.isOfSubject else {
                judged = judged.map { $0.isSettled ? $0 : result }
                break
            }
        }
        return Erasure.Answer(outcome(judged, subjects), state: Array(states.text.utf8))
    }

    /// Sends one request, and returns what it means for each of its subjects.
    private func ask(_ subjects: [Erasure.Subject], state: String, until: Instant) -> [ErasureAnswers.Judged] {
        func all(_ outcome: Outcome, isOfSubject: Bool = false) -> [ErasureAnswers.Judged] {
            subjects.map { _ in ErasureAnswers.Judged(outcome: outcome, isOfSubject: isOfSubject) }
        }
        let request: ErasureTemplate.Request
        switch rules.template.request(for: subjects, state: state) {
        case .success(let made): request = made
        case .failure(.fault(let words)): return all(.fault(words))
        case .failure(.byHand(let words)): return all(.rejected("\(words); \(HTTPErasing.byHand)"), isOfSubject: true)
        }
        let client: HTTPClient
        do throws(SettingsFault) {
            client = try self.client.client()
        } catch {
            return all(.retry(error.description))
        }
        let left = (until - Clock.system.now()).nanoseconds / 1_000_000
        guard left > 0 else { return all(.retry("the time of the call is over; the erasure goes on with the next one")) }
        let target = request.body.isEmpty ? ErasureSettings.bare : ErasureSettings.withBody
        switch client.ask(target, at: Place(request.method, rules.url(of: request)), request.body, within: Int(left)) {
        case .late: return all(.unknown("\(client.origin(of: target)) gave no answer within the time of the call"))
        case .unanswered(let outcome): return all(outcome)
        case .answered(let reply, let standard):
            return rules.template.answers.judge(
                reply, to: subjects, state: state, standard: standard, origin: client.origin(of: target), hiding: rules.secrets)
        }
    }

    /// Returns the outcome of the call: subjects that are confirmed or left to a person have their own, and the first of the others has that
    /// of the rest.
    private func outcome(_ judged: [ErasureAnswers.Judged], _ subjects: [Erasure.Subject]) -> Outcome {
        assert(judged.count == subjects.count, "a subject has no outcome")
        let ids = Secrets(subjects.flatMap { [$0.id, percentEncoded($0.id)] })
        let shown = judged.map { self.shown($0.outcome, hiding: ids) }
        guard let rest = zip(judged, shown).first(where: { !$0.0.isSettled })?.1 else {
            if judged.allSatisfy({ if case .delivered = $0.outcome { true } else { false } }) { return .delivered }
            return .mixed(rest: .delivered, events: shown.enumerated().map { (index: $0.offset, outcome: $0.element) })
        }
        let own = judged.indices.filter { judged[$0].isSettled }.map { (index: $0, outcome: shown[$0]) }
        return own.isEmpty ? rest : .mixed(rest: rest, events: own)
    }

    private func shown(_ outcome: Outcome, hiding ids: Secrets) -> Outcome {
        func shown(_ words: String) -> String { printable(ids.concealed(in: rules.secrets.concealed(in: words))) }
        return switch outcome {
        case .rejected(let code, let words): .rejected(code: code, shown(words))
        case .retry(let code, let words, let pause): .retry(code: code, shown(words), afterMilliseconds: pause)
        case .unknown(let code, let words): .unknown(code: code, shown(words))
        case .fault(let code, let words): .fault(code: code, shown(words))
        default: outcome
        }
    }

    static let byHand = "Erase the ids at the service behind url; or set erase, and the provider asks the service."
}

extension ErasureAnswers.Judged {
    /// True if the subject is not asked about again.
    fileprivate var isSettled: Bool {
        switch outcome {
        case .delivered, .rejected: true
        default: false
        }
    }
}
