// The process of an isolated module. It loads the module as the router would, and executes the frames that the router sends.
// It ends when the router is gone, whatever the module is doing. The router passes it no descriptors but the standard ones and the socket.
// One thread reads the frames, so that a call of the module can wait for the answer to a question; another one calls the module.

internal import Delivery
internal import Glibc
internal import Plans
internal import Platform
internal import Queueing

public enum HostedModule {
    /// The argument that makes the router's executable run as this process.
    public static let command = "host-module"
    /// The socket is the first descriptor after the standard ones.
    static let descriptor: Int32 = 3

    /// Runs until the router has closed the module or is gone. Returns the exit code if the module was not made.
    public static func run() -> Int32 {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let channel = Channel(owning: descriptor)
        let instance: ModuleInstance
        do throws(FrameFault) {
            guard let frame = try channel.receive(most: Frame.mostToModule) else { return 0 }
            guard case .hello(let hello) = try Frame.ToModule(frame.kind, frame.payload) else { throw FrameFault(what: "no hello") }
            guard let made = make(hello, channel) else { return 78 }
            instance = made
        } catch {
            // This happens only if a user runs this command.
            complain("only the router runs this command: \(error.what)")
            return 64
        }
        instance.onClosed { answer in tell(channel, .gone(answer.message)) }
        let frames = Frames()
        // The module takes deliveries on this thread. Another one reads, so that an erasure begins during a delivery that does not return,
        // and so that answers to questions and the end of the router are noticed.
        Thread.start("router") { read(channel, instance, into: frames) }.detach()
        while true {
            perform(frames.next(), instance: instance, channel: channel, questions: frames)
            // The router does not notice that a module has closed the socket while the other thread reads from it.
            if !channel.isOpen { _exit(0) }
        }
    }

    /// Reads frames until the router is gone, and then ends the process.
    private static func read(_ channel: Channel, _ instance: ModuleInstance, into frames: Frames) -> Never {
        do throws(FrameFault) {
            while let received = try channel.receive(most: Frame.mostToModule) {
                let frame = try Frame.ToModule(received.kind, received.payload)
                if case .erase(let token, let request) = frame {
                    // An erasure may take long, and what is received next does not wait for it.
                    Thread.start("erase") { instance.erase(request) { tell(channel, .erased(token: token, $0)) } }.detach()
                } else {
                    frames.take(frame)
                }
            }
        } catch {
            complain("the router sent \(error.what)")
            _exit(70)
        }
        _exit(0)
    }

    /// The frames that were read and not carried out, and the answers to questions. The lane limits how many deliveries are in it.
    final class Frames: Sendable {
        private struct State: Sendable {
            var waiting: [Frame.ToModule] = []
            var lastQuestion: UInt64 = 0
            var answers: [UInt64: Bool] = [:]
        }
        private let state = Monitor(State())

        func take(_ frame: Frame.ToModule) {
            state.withLock { state in
                if case .allow(let question, let isAllowed) = frame {
                    state.answers[question] = isAllowed
                } else {
                    state.waiting.append(frame)
                }
            }
            state.wake()
        }

        /// Waits for the next frame that is no answer.
        func next() -> Frame.ToModule {
            state.waitUntilReady { state -> Readiness<Frame.ToModule> in
                state.waiting.isEmpty ? .notBefore(nil) : .ready(state.waiting.removeFirst())
            }
        }

        /// Asks the router whether these events of a delivery may leave, and waits for the answer.
        func ask(_ channel: Channel, about token: UInt64, _ events: UnsafeBufferPointer<UInt64>?) -> Bool {
            let question = state.withLock { state in
                state.lastQuestion += 1
                return state.lastQuestion
            }
            tell(channel, .ask(question: question, token: token, events.map { Array($0) }))
            return state.waitUntilReady { state -> Readiness<Bool> in
                guard let answer = state.answers.removeValue(forKey: question) else { return .notBefore(nil) }
                return .ready(answer)
            }
        }
    }

    private static func make(_ hello: Frame.Hello, _ channel: Channel) -> ModuleInstance? {
        do throws(ModuleFault) {
            let module = try Module(TrustedFile(hello.path))
            // The router adds the name of the provider to each line.
            let instance = try module.make(settings: Secret(hello.settings), name: "") { level, line in
                tell(channel, .log(level, line))
            }
            tell(channel, .ready(name: module.description.name, version: module.description.version))
            return instance
        } catch {
            tell(channel, .refused(error.description))
            return nil
        }
    }

    private static func perform(_ frame: Frame.ToModule, instance: ModuleInstance, channel: Channel, questions: Frames) {
        switch frame {
        // An erasure begins where it is received, and answers are given where they are received.
        case .hello, .erase, .allow: break
        case .deliver(let token, let attempt, let batch):
            // The router has asked already for a module that does not ask.
            let asks = instance.asks
            instance.deliver(
                lent: batch, attempt: attempt, asking: { events in !asks || questions.ask(channel, about: token, events) },
                { tell(channel, .ended(token: token, $0)) })
        case .flush(let token): instance.flush { tell(channel, .ended(token: token, BatchOutcome($0))) }
        case .preview(let token, let batch): tell(channel, .previewed(token: token, instance.preview(batch)))
        case .probe(let token, let time): tell(channel, .probed(token: token, instance.probe(within: time)))
        case .reopen: instance.reopen()
        case .close:
            instance.close()
            tell(channel, .closed)
            _exit(0)
        }
    }

    /// Ignores failures: the end of the router is noticed where frames are received.
    private static func tell(_ channel: Channel, _ frame: Frame.ToHost) {
        let (kind, body) = frame.encoded
        try? channel.send(kind, body)
    }

    private static func complain(_ text: String) {
        var line = "switchyard \(command): \(text)\n"
        line.withUTF8 { try? writeAll(2, UnsafeRawBufferPointer($0)) }
    }
}
