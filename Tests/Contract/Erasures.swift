// Checks the optional entry that erases subjects: it ends once, whatever it answers, and touches nothing of other subjects.

import Delivery
import Glibc
import Plans
import Platform
import PluginHost
import Queueing

extension Suite {
    func erasures(_ module: Module, in folders: ModuleFolders, _ good: Case) {
        guard let probe = try? make(module, in: folders, good.settings) else { return }
        let canErase = probe.canErase
        probe.close()
        guard canErase else { return }
        check("an erasure of someone unknown ends once, and is repeated with its state") {
            let instance = try make(module, in: folders, good.settings)
            defer { instance.close() }
            var state: [UInt8] = []
            for attempt in 1...3 {
                let answer = try erase(instance, state: state, attempt: attempt)
                if let message = Self.senseless(answer) { throw Broken(message) }
                state = answer.state ?? state
            }
            // A second end comes from a thread of the module, perhaps after the first.
            usleep(20_000)
            guard instance.strayCompletions == 0 else { throw Broken("an erasure was ended more than once") }
        }
        check("an erasure between deliveries, and beside one, leaves the events of others where they are") {
            let instance = try make(module, in: folders, good.settings)
            defer { instance.close() }
            try deliverOnce(instance, good)
            let before = good.arrives.map { Destination($0).arrived() }
            let ending = Ending()
            instance.deliver(lent: OwnBatch(good.events, arrival: Clock.system.wall()), attempt: 1) { ending.put($0) }
            _ = try erase(instance, state: [], attempt: 1)
            _ = try ending.wait(patience)
            try deliverOnce(instance, good)
            if let before, let path = good.arrives {
                let (expected, found) = (before + 2 * good.events.count, Destination(path).arrived())
                guard found >= expected else { throw Broken("\(expected - found) events of others are missing at the destination") }
            }
        }
        check("it can be closed while an erasure is under way, and the erasure is ended once") {
            let instance = try make(module, in: folders, good.settings)
            let ending = Answers()
            instance.erase(request(state: [], attempt: 1)) { ending.put($0) }
            instance.close()
            _ = try ending.wait(patience)
            guard ending.count == 1, instance.strayCompletions == 0 else { throw Broken("it was ended more than once") }
        }
    }

    private func request(state: [UInt8], attempt: Int) -> ErasureRequest {
        ErasureRequest(
            subjects: [SubjectID(member: "userId", id: "contract-nobody-\u{1F9C0}")], state: state, attempt: attempt,
            begun: Clock.system.wall(), deadlineMilliseconds: patience * 1000)
    }

    private func erase(_ instance: ModuleInstance, state: [UInt8], attempt: Int) throws -> ErasureAnswer {
        let answers = Answers()
        instance.erase(request(state: state, attempt: attempt)) { answers.put($0) }
        return try answers.wait(patience)
    }

    private func deliverOnce(_ instance: ModuleInstance, _ good: Case) throws {
        let ending = Ending()
        instance.deliver(lent: OwnBatch(good.events, arrival: Clock.system.wall()), attempt: 1) { ending.put($0) }
        guard case .delivered = try ending.wait(patience).batch else { throw Broken("a batch beside an erasure was not delivered") }
    }

    /// Returns the message of the host if it took an invalid answer for unknown.
    private static func senseless(_ answer: ErasureAnswer) -> String? {
        for case .unknown(let answer) in [answer.outcome.batch] + answer.outcome.events.values where answer.message.hasPrefix("the module ")
        {
            return answer.message
        }
        return nil
    }
}

/// Collects the answers of one erasure, which must be exactly one.
private final class Answers: Sendable {
    private let all = Monitor<[ErasureAnswer]>([])

    func put(_ answer: ErasureAnswer) {
        all.withLock { $0.append(answer) }
        all.wake()
    }

    func wait(_ patience: Int) throws -> ErasureAnswer {
        let deadline = Clock.system.now() + .seconds(patience)
        let answer: ErasureAnswer? = all.waitUntilReady { all in
            if let answer = all.first { return .ready(answer) }
            return Clock.system.now() >= deadline ? .ready(nil) : .notBefore(deadline)
        }
        guard let answer else { throw Broken("it was not ended within \(patience) s") }
        return answer
    }

    var count: Int { all.withLock { $0.count } }
}
