// The process of an isolated module. It loads the module as the router would, and executes the frames that the router sends.
// It ends when the router is gone, whatever the module is doing. The router passes it no descriptors but the standard ones and the socket.

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
        // The module takes deliveries on this thread. Another one receives, so that an erasure begins during a delivery that does not return,
        // and so that the end of the router is noticed. The router limits the batches under way, so it also limits this list.
        let frames = Monitor<[Frame.ToModule]>([])
        Thread.start("router") { receive(from: channel, instance, into: frames) }.detach()
        while true {
            let frame = frames.waitUntilReady { frames in frames.isEmpty ? .notBefore(nil) : .ready(frames.removeFirst()) }
            perform(frame, instance: instance, channel: channel)
        }
    }

    private static func receive(from channel: Channel, _ instance: ModuleInstance, into frames: Monitor<[Frame.ToModule]>) -> Never {
        while true {
            do throws(FrameFault) {
                guard let received = try channel.receive(most: Frame.mostToModule) else { _exit(0) }
                let frame = try Frame.ToModule(received.kind, received.payload)
                if case .erase(let token, let request) = frame {
                    // An erasure may take long, and what is received next does not wait for it.
                    Thread.start("erase") { instance.erase(request) { tell(channel, .erased(token: token, $0)) } }.detach()
                    continue
                }
                frames.withLock { $0.append(frame) }
                frames.wake()
            } catch {
                complain("the router sent \(error.what)")
                _exit(70)
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

    private static func perform(_ frame: Frame.ToModule, instance: ModuleInstance, channel: Channel) {
        switch frame {
        // An erasure begins where it is received.
        case .hello, .erase: break
        case .deliver(let token, let attempt, let batch):
            instance.deliver(lent: batch, attempt: attempt) { tell(channel, .ended(token: token, $0)) }
        case .flush(let token): instance.flush { tell(channel, .ended(token: token, BatchOutcome($0))) }
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
